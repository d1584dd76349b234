import { useInfiniteQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../api/client';
import { key } from '../../api/queries';
import type { AuditEntry } from '../../api/schema';
import { useSession } from '../../session/session';
import { Badge, Id, LinkButton, Page } from '../../ui/basics';
import { moment } from '../../ui/format';
import { useSearch } from '../../ui/search';
import { Empty, Loading, Problem } from '../../ui/states';
import { More, Table } from '../../ui/table';

const FILTERS = [
  { name: 'action', title: 'Action', hint: 'instances.create' },
  { name: 'actor_id', title: 'Actor id', hint: '' },
  { name: 'object_id', title: 'Object id', hint: '' },
  { name: 'correlation_id', title: 'Correlation id', hint: '' },
] as const;

export default function Audit() {
  const { project } = useSession();
  const [, navigate] = useLocation();
  const query = new URLSearchParams(useSearch());
  const ids = useId();
  const filter = Object.fromEntries(FILTERS.map(({ name }) => [name, query.get(name) ?? '']).filter(([, value]) => value !== ''));
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    navigate(`/audit${next.size > 0 ? `?${next}` : ''}`, { replace: true });
  };
  const rows = useInfiniteQuery({
    queryKey: key('audit', project.id, filter),
    queryFn: ({ signal, pageParam }) =>
      call('get', '/api/v1/projects/{project_id}/audit', {
        path: { project_id: project.id },
        query: { limit: 50, ...filter, ...(pageParam ? { cursor: pageParam } : {}) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: (last) => last.next_cursor || undefined,
  });
  const all = rows.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Page title="Audit" lead={`Who did what in ${project.display_name}; nothing here can be changed`}>
      <div className="filters" role="group" aria-label="Filters">
        {FILTERS.map(({ name, title, hint }) => (
          <span key={name} className="row">
            <label htmlFor={ids + name}>{title}</label>
            <input id={ids + name} type="search" defaultValue={query.get(name) ?? ''} placeholder={hint}
              onBlur={(event) => event.target.value.trim() !== (query.get(name) ?? '') && set(name, event.target.value.trim())}
              onKeyDown={(event) => event.key === 'Enter' && set(name, event.currentTarget.value.trim())} />
          </span>
        ))}
      </div>
      {rows.data === undefined && !rows.isError && <Loading what="the audit" lines={6} />}
      {rows.isError && <Problem error={rows.error} retry={() => void rows.refetch()} title="Could not load the audit" />}
      {rows.data && all.length === 0 && <Empty title="No entry fits these filters" action={<LinkButton href="/audit">Clear the filters</LinkButton>} />}
      {all.length > 0 && (
        <Table
          label="Audit entries"
          rows={all}
          id={(one) => one.id}
          columns={[
            { title: 'When', cell: (one: AuditEntry) => <time dateTime={one.at}>{moment(one.at)}</time> },
            { title: 'Action', cell: (one) => <code>{one.action}</code> },
            { title: 'Outcome', cell: (one) => <Badge tone={one.outcome === 'denied' ? 'bad' : 'neutral'}>{one.outcome}</Badge> },
            {
              title: 'Who',
              cell: (one) => (
                <span>
                  {one.actor_kind.replace('_', ' ')} <Id text={one.actor_id} what="the actor's id" />
                </span>
              ),
            },
            {
              title: 'What',
              cell: (one) => (
                <span>
                  {one.object_kind.replace('_', ' ')} <Id text={one.object_id} what="the object's id" />
                  {one.reason && <span className="hint block">{one.reason}</span>}
                </span>
              ),
            },
          ]}
        />
      )}
      <More query={rows} />
    </Page>
  );
}
