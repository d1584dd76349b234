import { useState } from 'react';
import { Link } from 'wouter';
import { useAllocations } from '../../api/queries';
import type { EndpointView, InstanceDetail, TimelineEntry } from '../../api/schema';
import { useSession } from '../../session/session';
import { Badge, Button, Card, CommandLine, Copy, Fact, Facts, Id, Short, Tag } from '../../ui/basics';
import { bytes, date, mountWords, plural, shortId, span, words } from '../../ui/format';
import { Problem } from '../../ui/states';
import { Ago, useNow } from '../../ui/time';
import { openInTab } from './open';
import { EndpointTokens } from './tokens';
import { type Step, stepsOf } from './progress';

export function Overview({ instance, timeline }: { instance: InstanceDetail; timeline: TimelineEntry[] }) {
  const steps = stepsOf(timeline);
  const under = steps.some((step) => step.state !== 'done') || Boolean(instance.current_operation);
  return (
    <>
      {instance.failure_message && !instance.decommissioned_at && (
        <div className="problem" role="alert">
          <p className="problem-title">{instance.status === 'failed' ? 'It failed' : 'The last attempt failed'}</p>
          <p>{instance.failure_message}</p>
          <p className="muted small">
            Code <code>{instance.failure_reason}</code>
            {instance.correlation_id && (
              <>
                {' · '}Correlation id <code>{instance.correlation_id}</code>
              </>
            )}
          </p>
        </div>
      )}
      {steps.length > 0 && under && <Progress steps={steps} open />}
      {!instance.decommissioned_at && <Endpoints instance={instance} />}
      <Card title="What runs">
        <Facts>
          <Fact name="App">
            {instance.app_slug} {instance.app_version}
            {instance.previous_version && <span className="muted small"> (before: {instance.previous_version})</span>}
          </Fact>
          <Image instance={instance} />
          <Fact name="Storage">
            {instance.mounts.length > 0
              ? instance.mounts.map((mount) => (
                  <span key={mount.name} className="block">
                    {mount.name} <code>{mount.path}</code>: {mountWords(mount)}
                  </span>
                ))
              : 'none'}
          </Fact>
          <Fact name="GPUs">{instance.gpus.length === 0 ? 'none' : plural(instance.gpus.length, 'GPU')}</Fact>
          <Fact name="Node">{instance.node_name || 'unknown'}</Fact>
          <Fact name="Allocation">
            <AllocationName instance={instance} />
          </Fact>
          <Fact name="Engine">{words(instance.runtime_backend)}</Fact>
          <Fact name="Launched">
            <Ago at={instance.created_at} />
          </Fact>
          {instance.activated_at && <Fact name="First ready">{date(instance.activated_at)}</Fact>}
          {instance.decommissioned_at && <Fact name="Ended">{date(instance.decommissioned_at)}</Fact>}
          <Fact name="Id">
            <Id text={instance.id} what="the instance's id" />
          </Fact>
        </Facts>
      </Card>
      <Parameters values={instance.values as Record<string, unknown>} />
      {instance.components.length > 0 && <Components instance={instance} />}
      {steps.length > 0 && !under && <Progress steps={steps} open={false} />}
    </>
  );
}

function AllocationName({ instance }: { instance: InstanceDetail }) {
  const { can } = useSession();
  const id = instance.target_allocation_id;
  const allocations = useAllocations(instance.project_id, undefined, can('allocations.read'));
  const name = allocations.data?.find((one) => one.id === id)?.name;
  return (
    <Link href="/allocations" title={id}>
      {name ?? <code>{shortId(id)}</code>}
    </Link>
  );
}

function Image({ instance }: { instance: InstanceDetail }) {
  const image = instance.image;
  if (!image) {
    return (
      <Fact name="Image digest">
        <Short text={instance.artifact_digest} what="the image digest" />
      </Fact>
    );
  }
  return (
    <Fact name="Image">
      <span className="block">
        {image.reference.split('@')[0]?.split('/').slice(1).join('/') || image.reference} {image.variant && <Tag>{image.variant}</Tag>}
      </span>
      <Short text={image.digest} what="the image digest" />
      {image.trust && <Badge tone={image.trust === 'verified' ? 'good' : image.trust === 'revoked' ? 'bad' : 'warn'}>{image.trust}</Badge>}
      {image.signer && <span className="muted small block">signed by {image.signer.slice(0, 19)}…</span>}
    </Fact>
  );
}

function Parameters({ values }: { values: Record<string, unknown> }) {
  const all = Object.entries(values);
  if (all.length === 0) return null;
  return (
    <Card title="Parameters">
      <Facts>
        {all.map(([name, value]) => (
          <Fact key={name} name={name}>
            {typeof value === 'string' ? value : JSON.stringify(value)}
          </Fact>
        ))}
      </Facts>
    </Card>
  );
}

function Progress({ steps, open }: { steps: Step[]; open: boolean }) {
  const now = useNow();
  return (
    <Card title={open ? 'Under way' : 'Last operation'}>
      <ol className="steps" aria-label="Steps">
        {steps.map((step) => (
          <li key={step.title} className={`step ${step.state}`}>
            <span className="step-mark" aria-hidden="true">
              {step.state === 'done' ? '✓' : step.state === 'failed' ? '✕' : ''}
            </span>
            <div className="step-body">
              <div className="step-line">
                <span>
                  {step.title}
                  <span className="sr-only">: {step.state === 'now' ? 'under way' : step.state}</span>
                </span>
                {step.began !== null && <span className="muted small">{span((step.ended ?? Math.max(now, step.began)) - step.began)}</span>}
              </div>
              {step.pull && step.state !== 'done' && (
                <label className="small muted">
                  {step.pull.total === null ? bytes(step.pull.done) : `${bytes(step.pull.done)} of ${bytes(step.pull.total)}`}
                  {step.pull.total === null ? <progress /> : <progress max={step.pull.total} value={step.pull.done} />}
                </label>
              )}
              {step.pull && step.state === 'done' && <span className="muted small">{bytes(step.pull.total ?? step.pull.done)}</span>}
              {step.note && <p className="small">{step.note}</p>}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}

const MODES: Record<string, string> = {
  private: 'private',
  platform_proxy: 'through the platform',
  embedded_ui_gateway: 'in the browser',
  public: 'public',
};

const OPEN_TO: Record<EndpointView['public_access'], string> = {
  off: 'only people with access',
  api_key: 'anybody with a token of this endpoint',
  open: 'anybody',
};

function Endpoints({ instance }: { instance: InstanceDetail }) {
  const { project, can } = useSession();
  const [error, setError] = useState<unknown>(null);
  const endpoints = instance.access.endpoints.filter((one) => one.expose !== 'internal');
  const running = instance.status === 'running';
  const mayOpen = can('apps.instance.access');
  const why = !running ? 'It opens when the app runs.' : !mayOpen ? 'Your role does not let you open apps; ask an admin of the project.' : undefined;
  if (endpoints.length === 0) {
    return (
      <Card title="Open it">
        <p className="muted">This app has no port to open.</p>
      </Card>
    );
  }
  return (
    <Card title="Open it">
      {error !== null && <Problem error={error} title="The app could not be opened" />}
      <ul className="rows">
        {endpoints.map((one) => (
          <li key={one.component + one.name} className="endpoint">
            <div className="row-link">
              <span className="row-main">
                <strong>{one.title ?? one.name}</strong>
                <span className="muted small">
                  port {one.port} · {MODES[one.mode] ?? one.mode}
                  {one.mode === 'public' && `: open to ${OPEN_TO[one.public_access]}`}
                </span>
              </span>
              {one.url && (
                <span className="row">
                  <Button reason={why} onClick={() => void openInTab(instance, one).catch(setError)}>
                    Open in a new tab
                  </Button>
                  <Copy text={one.url} what="address" label="Copy address" />
                </span>
              )}
            </div>
            {mayOpen && (
              <details open={!one.url}>
                <summary>From your own machine</summary>
                <CommandLine command={`gpuaas port-forward ${instance.name} --port ${one.port} --project ${project.slug}`} what="the port-forward command" />
              </details>
            )}
            {mayOpen && one.url && <EndpointTokens instance={instance} endpoint={one} />}
          </li>
        ))}
      </ul>
      <Offered instance={instance} />
    </Card>
  );
}

/** What the app's author tells people and gives them to use. */
function Offered({ instance }: { instance: InstanceDetail }) {
  const { notes = [], commands = [] } = instance.access;
  return (
    <>
      {notes.map((note) => (
        <p key={note} className="hint">
          {note}
        </p>
      ))}
      {commands.map((one) => (
        <div key={one.name}>
          <h3>{one.title}</h3>
          <CommandLine command={one.line} what={one.title} />
        </div>
      ))}
    </>
  );
}

function Components({ instance }: { instance: InstanceDetail }) {
  return (
    <Card title="Components">
      <ul className="rows">
        {instance.components.map((one) => (
          <li key={one.name} className="row-link">
            <span className="row-main">
              <strong>{one.name}</strong>
              <span className="muted small">
                {one.restarts > 0 ? `${plural(one.restarts, 'restart')}` : 'no restarts'}
                {one.exit_code != null ? ` · exit code ${one.exit_code}` : ''}
                {one.started_at ? ' · started ' : ''}
                {one.started_at && <Ago at={one.started_at} />}
              </span>
            </span>
            <Badge tone={one.ready ? 'good' : one.running ? 'busy' : 'neutral'}>{one.ready ? 'ready' : one.running ? 'running' : 'not running'}</Badge>
          </li>
        ))}
      </ul>
    </Card>
  );
}
