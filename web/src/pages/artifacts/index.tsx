import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../api/client';
import { fieldProblem } from '../../api/error';
import { key, useRefresh } from '../../api/queries';
import type { Artifact } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Ask } from '../../ui/ask';
import { Badge, CommandLine, Page, Short, Tag, type Tone } from '../../ui/basics';
import { Field } from '../../ui/form';
import { bytes } from '../../ui/format';
import { useSearch } from '../../ui/search';
import { Empty, Loading, Problem } from '../../ui/states';
import { RowMenu } from '../../ui/menu';
import { More, Table } from '../../ui/table';
import { Ago } from '../../ui/time';
import { nextChannel } from './channels';

type Verb = 'verify' | 'promote' | 'deprecate' | 'retire' | 'revoke';

const WORDS: Record<Verb, { title: string; about: string; needs: string }> = {
  verify: { title: 'Verify', about: 'Its signature is checked again with the keys that stand for this project.', needs: 'apps.artifacts.manage' },
  promote: { title: 'Promote', about: 'It moves on to the next channel, which versions of apps may ask for.', needs: 'apps.artifacts.promote' },
  deprecate: { title: 'Deprecate', about: 'No new version may name it; what runs goes on.', needs: 'apps.artifacts.manage' },
  retire: { title: 'Retire', about: 'It is out of use: new launches with it are refused.', needs: 'apps.artifacts.manage' },
  revoke: { title: 'Revoke', about: 'Trust in it is withdrawn: new launches are refused wherever it is used.', needs: 'apps.artifacts.manage' },
};

const TRUST: Record<string, Tone> = { verified: 'good', unverified: 'warn', revoked: 'bad' };

export default function Artifacts() {
  const { project, can } = useSession();
  const [, navigate] = useLocation();
  const query = new URLSearchParams(useSearch());
  const ids = useId();
  const app = query.get('app') ?? '';
  const visible = query.get('visible') === '1';
  const [asking, setAsking] = useState<{ one: Artifact; verb: Verb } | null>(null);
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    navigate(`/artifacts${next.size > 0 ? `?${next}` : ''}`, { replace: true });
  };
  const artifacts = useInfiniteQuery({
    queryKey: key('artifacts', project.id, app, visible),
    queryFn: ({ signal, pageParam }) =>
      call('get', '/api/v1/projects/{project_id}/app-artifacts', {
        path: { project_id: project.id },
        query: { limit: 50, ...(app ? { app } : {}), ...(visible ? { visible } : {}), ...(pageParam ? { cursor: pageParam } : {}) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: (last) => last.next_cursor || undefined,
  });
  const all = artifacts.data?.pages.flatMap((page) => page.items) ?? [];
  const registry = useQuery({
    queryKey: key('artifacts', project.id, 'registry'),
    queryFn: ({ signal }) => call('get', '/api/v1/projects/{project_id}/registry', { path: { project_id: project.id }, signal }),
    enabled: can(WORDS.promote.needs),
    staleTime: 60_000,
  });
  const next = (one: Artifact) => nextChannel(registry.data?.channels ?? [], one);
  const verbs = (one: Artifact): Verb[] => {
    if (one.project_id !== project.id || one.status === 'retired') return [];
    const all: Verb[] = [...(next(one) ? (['promote'] as const) : []), 'verify', ...(one.status === 'deprecated' ? (['retire'] as const) : (['deprecate'] as const)), ...(one.trust.state !== 'revoked' ? (['revoke'] as const) : [])];
    return all.filter((verb) => can(WORDS[verb].needs));
  };
  return (
    <Page title="Artifacts" lead={`Images of ${project.display_name}, by digest`}>
      <div className="filters" role="group" aria-label="Filters">
        <label htmlFor={`${ids}a`}>App</label>
        <input id={`${ids}a`} type="search" placeholder="Slug" defaultValue={app} onBlur={(event) => event.target.value.trim() !== app && set('app', event.target.value.trim())}
          onKeyDown={(event) => event.key === 'Enter' && set('app', event.currentTarget.value.trim())} />
        <label className="check">
          <input type="checkbox" checked={visible} onChange={(event) => set('visible', event.target.checked ? '1' : '')} /> Also those of others that we may use
        </label>
      </div>
      {artifacts.data === undefined && !artifacts.isError && <Loading what="artifacts" lines={5} />}
      {artifacts.isError && <Problem error={artifacts.error} retry={() => void artifacts.refetch()} title="Could not load artifacts" />}
      {artifacts.data && all.length === 0 && (
        <Empty title="No artifacts">
          <p>Publish an app from its folder; this builds, pushes, signs and registers its image:</p>
          <CommandLine command={`gpuaas app publish . --project ${project.slug}`} />
        </Empty>
      )}
      {all.length > 0 && (
        <Table
          label="Artifacts"
          rows={all}
          id={(one) => one.id}
          columns={[
            {
              title: 'Image',
              cell: (one: Artifact) => (
                <span>
                  <strong>{one.app_slug}</strong> {one.variant && <Tag>{one.variant}</Tag>} {one.tag && <Tag>{one.tag}</Tag>}
                  <span className="muted small block">{one.repository}</span>
                </span>
              ),
            },
            { title: 'Digest', cell: (one) => <Short text={one.digest} what="the digest" /> },
            {
              title: 'Trust',
              cell: (one) => (
                <span>
                  <Badge tone={TRUST[one.trust.state] ?? 'neutral'}>{one.trust.state}</Badge>
                  {one.trust.reason && <span className="hint block">{one.trust.reason}</span>}
                </span>
              ),
            },
            {
              title: 'Lifecycle',
              cell: (one) => (
                <span className="row">
                  {one.status} {one.channel && <Tag>{one.channel}</Tag>}
                </span>
              ),
            },
            { title: 'Size', cell: (one) => <span className="nowrap">{bytes(one.size_bytes)}</span> },
            { title: 'Registered', cell: (one) => <Ago at={one.created_at} /> },
            {
              title: 'Actions',
              quiet: true,
              cell: (one) => (
                <RowMenu
                  label={`Actions for ${one.app_slug} ${one.digest.slice(7, 15)}`}
                  items={verbs(one).map((verb) => ({ text: WORDS[verb].title, act: () => setAsking({ one, verb }) }))}
                />
              ),
            },
          ]}
        />
      )}
      <More query={artifacts} />
      {asking && <Change one={asking.one} verb={asking.verb} channel={next(asking.one)} onClose={() => setAsking(null)} />}
    </Page>
  );
}

interface ChangeProps {
  one: Artifact;
  verb: Verb;
  /** Where promoting leads. */
  channel: string | undefined;
  onClose: () => void;
}

function Change({ one, verb, channel, onClose }: ChangeProps) {
  const { project } = useSession();
  const refresh = useRefresh();
  const path = { project_id: project.id, artifact_id: one.id };
  const base = '/api/v1/projects/{project_id}/app-artifacts/{artifact_id}' as const;
  // As it was asked, also when the list has moved on since.
  const [to] = useState(verb === 'promote' ? channel : undefined);
  return (
    <Ask
      title={`${WORDS[verb].title} ${one.app_slug}${to ? ` to ${to}` : ''}?`}
      about={WORDS[verb].about}
      verb={WORDS[verb].title}
      onClose={onClose}
      act={async (form) => {
        const text = String(form.get('reason') ?? '').trim();
        const because = text ? { reason: text } : {};
        if (verb === 'verify') await call('post', `${base}/verify`, { path });
        else if (verb === 'promote') await call('post', `${base}/promote`, { path, body: { channel: to ?? '', ...because } });
        else if (verb === 'deprecate') await call('post', `${base}/deprecate`, { path, body: because });
        else if (verb === 'retire') await call('post', `${base}/retire`, { path, body: because });
        else await call('post', `${base}/revoke`, { path, body: because });
        announce('Done');
        await refresh('artifacts', 'form', 'catalog');
      }}
    >
      {(error) =>
        verb !== 'verify' && (
          <Field label="Reason" hint="Kept in the audit." problem={fieldProblem(error, '/reason')}>
            {(props) => <input {...props} name="reason" maxLength={500} autoComplete="off" />}
          </Field>
        )
      }
    </Ask>
  );
}
