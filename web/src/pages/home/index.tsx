import { Link } from 'wouter';
import { useAllocations, useCatalog, useInstances } from '../../api/queries';
import type { Instance } from '../../api/schema';
import { useSession } from '../../session/session';
import { Badge, Card, LinkButton, Page } from '../../ui/basics';
import { plural } from '../../ui/format';
import { Empty, Loading, Problem, Show } from '../../ui/states';
import { Ago } from '../../ui/time';
import { StateBadge } from '../workload/state';

const needsAttention = (one: Instance) => one.status === 'failed' || (one.status === 'running' && one.health === 'unhealthy');

export default function Home() {
  const { project, who, can } = useSession();
  const mayLook = can('apps.instance.read');
  // Ended ones too: who has ended everything has launched before.
  const instances = useInstances(project.id, { ended: true }, mayLook);
  const all = instances.data?.pages.flatMap((page) => page.items) ?? [];
  const alive = all.filter((one) => !one.decommissioned_at);
  const troubled = alive.filter(needsAttention);
  const others = alive.filter((one) => !needsAttention(one));
  return (
    <Page
      title={`Hello, ${who.display_name}`}
      lead={project.display_name}
      actions={can('apps.instance.create') && <LinkButton href="/catalog" variant="primary">Launch an app</LinkButton>}
    >
      {!mayLook ? (
        <Empty title="Nothing to show">Your role in this project does not let you see its workloads. Ask an admin of the project.</Empty>
      ) : instances.data === undefined ? (
        instances.isError ? (
          <Problem error={instances.error} retry={() => void instances.refetch()} title="Could not load your workloads" />
        ) : (
          <Loading what="your workloads" lines={5} />
        )
      ) : (
        <>
          {all.length === 0 && <FirstLaunch />}
          {troubled.length > 0 && (
            <Card title="Needs attention">
              <ul className="rows">
                {troubled.map((one) => (
                  <Row key={one.id} instance={one} detail={one.failure_message ?? 'Its health check fails.'} />
                ))}
              </ul>
            </Card>
          )}
          {all.length > 0 && (
            <Card title="What runs" actions={<Link href="/workloads">All workloads</Link>}>
              {others.length === 0 ? (
                <Empty title="Nothing runs at the moment" action={<LinkButton href="/catalog">Open the catalog</LinkButton>} />
              ) : (
                <ul className="rows">
                  {others.map((one) => (
                    <Row key={one.id} instance={one} />
                  ))}
                </ul>
              )}
            </Card>
          )}
          {can('allocations.read') && <Compute />}
        </>
      )}
    </Page>
  );
}

function Row({ instance, detail }: { instance: Instance; detail?: string }) {
  return (
    <li>
      <Link href={`/workloads/instance/${instance.id}`} className="row-link">
        <span className="row-main">
          <strong>{instance.name}</strong>
          <span className="muted small">
            {instance.app_slug} {instance.app_version}
            {detail ? ` · ${detail}` : ''}
          </span>
        </span>
        <span className="row-side">
          <StateBadge instance={instance} />
          <span className="muted small">
            launched <Ago at={instance.created_at} />
          </span>
        </span>
      </Link>
    </li>
  );
}

function FirstLaunch() {
  const { project, can } = useSession();
  const catalog = useCatalog(project.id);
  const apps = (catalog.data ?? []).filter((app) => app.versions.length > 0);
  // Notebooks are what most people come for; whatever else is there will do.
  const first = apps.find((app) => app.slug.includes('jupyter')) ?? apps[0];
  const preparing = (catalog.data ?? []).find((app) => app.preparing && !app.preparing.failure && app.versions.length === 0);
  if (!can('apps.instance.create')) {
    return (
      <Card>
        <Empty title="Nothing was launched here yet">Your role lets you look but not launch. Ask an admin of the project.</Empty>
      </Card>
    );
  }
  return (
    <Card className="hero">
      <h2>Launch your first notebook</h2>
      <p>
        Pick an app, choose the GPUs it should run on, and open it here in the browser. When you end it, you get a receipt that nothing is left.
      </p>
      <div className="row">
        {first ? (
          <LinkButton href={`/launch/${first.slug}`} variant="primary">
            Launch {first.display_name}
          </LinkButton>
        ) : (
          <LinkButton href="/catalog" variant="primary">
            Open the catalog
          </LinkButton>
        )}
        {preparing?.preparing && (
          <span className="muted small">
            {preparing.display_name} is being prepared ({preparing.preparing.percent} %)
          </span>
        )}
      </div>
    </Card>
  );
}

function Compute() {
  const { project } = useSession();
  const allocations = useAllocations(project.id);
  return (
    <Card title="Compute" actions={<Link href="/allocations">All allocations</Link>}>
      <Show
        query={allocations}
        what="allocations"
        isEmpty={(list) => list.every((one) => one.state === 'released')}
        empty={<Empty title="This project holds no compute yet" action={<LinkButton href="/allocations">Request an allocation</LinkButton>} />}
      >
        {(list) => (
          <ul className="rows">
            {list
              .filter((one) => one.state !== 'released')
              .map((one) => (
                <li key={one.id} className="row-link">
                  <span className="row-main">
                    <strong>{one.name}</strong>
                    <span className="muted small">
                      {plural(one.gpu_count, 'GPU')} · {one.vcpu} vCPU · {Math.round(one.memory_mib / 1024)} GiB
                    </span>
                  </span>
                  <Badge tone={one.state === 'active' ? 'good' : 'busy'}>{one.state}</Badge>
                </li>
              ))}
          </ul>
        )}
      </Show>
    </Card>
  );
}
