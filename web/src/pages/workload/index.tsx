import * as Tabs from '@radix-ui/react-tabs';
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../../api/error';
import { embeddable } from '../../api/endpoints';
import { isBusy, useInstance, useTimeline } from '../../api/queries';
import type { InstanceDetail } from '../../api/schema';
import { useSession } from '../../session/session';
import { LinkButton, Page, Simulated } from '../../ui/basics';
import { useSearch } from '../../ui/search';
import { Empty, Show } from '../../ui/states';
import { Actions } from './actions';
import { EmbeddedApp } from './embedded';
import { Logs } from './logs';
import { Metrics } from './metrics';
import { Overview } from './overview';
import { Receipt } from './receipt';
import { Rendered } from './rendered';
import { StateBadge } from './state';
import { Timeline } from './timeline';

export default function Workload({ id }: { id: string }) {
  const { project, projects, choose, can } = useSession();
  const query = new URLSearchParams(useSearch());
  const others = projects.filter((one) => one.id !== project.id).map((one) => one.id);
  const instance = useInstance(id, project.id, others);
  const found = instance.data;
  // Somebody else's link may lead into another of one's projects.
  useEffect(() => {
    if (found && found.project_id !== project.id && projects.some((one) => one.id === found.project_id)) choose(found.project_id);
  }, [found, project.id, projects, choose]);
  const missing = instance.error instanceof ApiError && instance.error.status === 404 && !found;
  return (
    <Page
      title={found?.name ?? 'Workload'}
      back={{ href: '/workloads', text: 'Workloads' }}
      lead={
        found && (
          <span className="row">
            <StateBadge instance={found} />
            <span>
              {found.app_slug} {found.app_version}
            </span>
            <Simulated when={found.simulated} />
          </span>
        )
      }
      actions={
        found && (
          <>
            {found.status === 'running' && can('apps.instance.access') && embeddable(found.access.endpoints) && query.get('tab') !== 'app' && (
              <LinkButton href={`/workloads/instance/${found.id}?tab=app`} variant="primary">
                Open
              </LinkButton>
            )}
            <Actions instance={found} />
          </>
        )
      }
    >
      {missing ? (
        <Empty title="There is no such workload, or it is not yours to see" action={<LinkButton href="/workloads">All workloads</LinkButton>} />
      ) : (
        <Show query={instance} what="the workload" lines={8}>
          {(detail) => <Detail instance={detail} />}
        </Show>
      )}
    </Page>
  );
}

function Detail({ instance }: { instance: InstanceDetail }) {
  const { can } = useSession();
  const [, navigate] = useLocation();
  const query = new URLSearchParams(useSearch());
  const busy = isBusy(instance);
  const timeline = useTimeline(instance.project_id, instance.id, busy);
  const ended = Boolean(instance.decommissioned_at);
  const app = embeddable(instance.access.endpoints);
  const tabs = [
    { key: 'overview', title: 'Overview' },
    ...(app && can('apps.instance.access') && !ended ? [{ key: 'app', title: app.title ?? 'App' }] : []),
    ...(can('apps.instance.access') && !ended ? [{ key: 'logs', title: 'Logs' }] : []),
    { key: 'timeline', title: 'Timeline' },
    ...(ended ? [{ key: 'receipt', title: 'Receipt' }] : [{ key: 'metrics', title: 'Metrics' }]),
    ...(can('apps.instance.inspect') ? [{ key: 'rendered', title: 'Rendered files' }] : []),
  ];
  const wanted = query.get('tab') ?? (ended ? 'receipt' : 'overview');
  const tab = tabs.some((one) => one.key === wanted) ? wanted : 'overview';
  const here = `/workloads/instance/${instance.id}`;
  // Once opened it stays, hidden while another tab is shown: what is not saved in the app would be lost with its frame.
  const [opened, setOpened] = useState(tab === 'app');
  useEffect(() => {
    if (tab === 'app') setOpened(true);
  }, [tab]);
  const lived = useRef(!ended);
  useEffect(() => {
    if (ended && lived.current) navigate(`${here}?tab=receipt`, { replace: true });
    lived.current = !ended;
  }, [ended, here, navigate]);
  return (
    <Tabs.Root value={tab} onValueChange={(next) => navigate(`${here}?tab=${next}`, { replace: true })} className="tabs" activationMode="manual">
      <Tabs.List className="tab-list" aria-label="Parts of this workload">
        {tabs.map((one) => (
          <Tabs.Trigger key={one.key} value={one.key} className="tab">
            {one.title}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      <Tabs.Content value="overview" className="tab-body">
        <Overview instance={instance} timeline={timeline.data ?? instance.recent_events} />
      </Tabs.Content>
      {app && (
        <Tabs.Content value="app" className="tab-body" forceMount={opened || undefined} hidden={tab !== 'app'}>
          <EmbeddedApp instance={instance} endpoint={app} />
        </Tabs.Content>
      )}
      <Tabs.Content value="logs" className="tab-body">
        <Logs instance={instance} />
      </Tabs.Content>
      <Tabs.Content value="timeline" className="tab-body">
        <Timeline query={timeline} />
      </Tabs.Content>
      <Tabs.Content value="metrics" className="tab-body">
        <Metrics instance={instance} />
      </Tabs.Content>
      <Tabs.Content value="receipt" className="tab-body">
        <Receipt instance={instance} />
      </Tabs.Content>
      <Tabs.Content value="rendered" className="tab-body">
        <Rendered instance={instance} />
      </Tabs.Content>
    </Tabs.Root>
  );
}
