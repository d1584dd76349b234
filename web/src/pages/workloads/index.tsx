import { useId } from 'react';
import { Link, useLocation } from 'wouter';
import { useInstances } from '../../api/queries';
import type { Instance, Status } from '../../api/schema';
import { useSession } from '../../session/session';
import { LinkButton, Page } from '../../ui/basics';
import { useSearch } from '../../ui/search';
import { Empty, Loading, Problem } from '../../ui/states';
import { More, Table } from '../../ui/table';
import { Ago } from '../../ui/time';
import { StateBadge } from '../workload/state';

const STATUSES: Status[] = ['created', 'starting', 'running', 'stopping', 'stopped', 'failed'];

export default function Workloads() {
  const { project, can } = useSession();
  const [, navigate] = useLocation();
  const query = new URLSearchParams(useSearch());
  const status = STATUSES.find((one) => one === query.get('status'));
  const app = query.get('app') ?? '';
  const ended = query.get('ended') === '1';
  const ids = useId();
  // The filters stand in the address, so that a list can be shared and comes back with the back button.
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    const text = next.toString();
    navigate(text ? `/workloads?${text}` : '/workloads', { replace: true });
  };
  const instances = useInstances(project.id, { status, app: app || undefined, ended: ended || undefined });
  const all = instances.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Boolean(status || app || ended);
  return (
    <Page
      title="Workloads"
      lead={`App instances of ${project.display_name}`}
      actions={can('apps.instance.create') && <LinkButton href="/catalog" variant="primary">Launch an app</LinkButton>}
    >
      <div className="filters" role="group" aria-label="Filters">
        <label htmlFor={`${ids}s`}>State</label>
        <select id={`${ids}s`} value={status ?? ''} onChange={(event) => set('status', event.target.value)}>
          <option value="">Any</option>
          {STATUSES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        <label htmlFor={`${ids}a`}>App</label>
        <input id={`${ids}a`} type="search" placeholder="Slug" defaultValue={app} onBlur={(event) => set('app', event.target.value.trim())}
          onKeyDown={(event) => event.key === 'Enter' && set('app', event.currentTarget.value.trim())} />
        <label className="check">
          <input type="checkbox" checked={ended} onChange={(event) => set('ended', event.target.checked ? '1' : '')} /> Ended ones too
        </label>
      </div>
      {instances.data === undefined && !instances.isError && <Loading what="workloads" lines={5} />}
      {instances.isError && <Problem error={instances.error} retry={() => void instances.refetch()} title="Could not load workloads" />}
      {instances.data && all.length === 0 && (
        <Empty
          title={filtered ? 'No workload fits these filters' : 'Nothing runs in this project'}
          action={filtered ? <LinkButton href="/workloads">Clear the filters</LinkButton> : <LinkButton href="/catalog">Open the catalog</LinkButton>}
        />
      )}
      {all.length > 0 && (
        <Table
          label="Workloads"
          rows={all}
          id={(one) => one.id}
          columns={[
            { title: 'Name', cell: (one: Instance) => <Link href={`/workloads/instance/${one.id}`}>{one.name}</Link> },
            { title: 'State', cell: (one) => <StateBadge instance={one} /> },
            { title: 'App', cell: (one) => `${one.app_slug} ${one.app_version}` },
            { title: 'Changed', cell: (one) => <Ago at={one.updated_at} /> },
            { title: 'Launched', cell: (one) => <Ago at={one.created_at} /> },
          ]}
        />
      )}
      <More query={instances} />
    </Page>
  );
}
