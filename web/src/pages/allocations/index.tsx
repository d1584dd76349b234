import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { fieldProblem } from '../../api/error';
import { key, useAllocations, useRefresh, useSkus } from '../../api/queries';
import type { Allocation, SkuView } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Ask } from '../../ui/ask';
import { Badge, Button, Card, Id, Page, type Tone } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { mib, plural, price } from '../../ui/format';
import { Empty, Show } from '../../ui/states';
import { Table } from '../../ui/table';
import { Ago } from '../../ui/time';

const TONES: Record<Allocation['state'], Tone> = { requested: 'busy', active: 'good', releasing: 'busy', released: 'neutral' };

export default function Allocations() {
  const { project, can, canOnPlatform } = useSession();
  const allocations = useAllocations(project.id);
  const skus = useSkus();
  const refresh = useRefresh();
  const [asking, setAsking] = useState(false);
  const [releasing, setReleasing] = useState<Allocation | null>(null);
  const mayAsk = can('allocations.request');
  const skuOf = (id: string) => skus.data?.find((sku) => sku.id === id);
  return (
    <Page
      title="Allocations"
      lead={`Compute that ${project.display_name} holds`}
      actions={
        <Button variant="primary" reason={mayAsk ? undefined : 'Your role does not let you request allocations.'} onClick={() => setAsking(true)}>
          Request an allocation
        </Button>
      }
    >
      <Show
        query={allocations}
        what="allocations"
        isEmpty={(list) => list.length === 0}
        empty={<Empty title="This project holds no compute yet">Request an allocation; apps are launched onto it.</Empty>}
      >
        {(list) => (
          <Table
            label="Allocations"
            rows={list.toSorted((a, b) => Number(a.state === 'released') - Number(b.state === 'released'))}
            id={(one) => one.id}
            columns={[
              { title: 'Name', cell: (one: Allocation) => <strong>{one.name}</strong> },
              { title: 'State', cell: (one) => <Badge tone={TONES[one.state]}>{one.state}</Badge> },
              { title: 'Kind', cell: (one) => skuOf(one.sku_id)?.display_name ?? one.shape.replace('_', ' ') },
              { title: 'Size', cell: (one) => `${plural(one.gpu_count, 'GPU')}, ${one.vcpu} vCPU, ${mib(one.memory_mib)}` },
              { title: 'Price', cell: (one) => currentPrices(skuOf(one.sku_id)) },
              { title: 'Requested', cell: (one) => <Ago at={one.requested_at} /> },
              {
                title: 'Actions',
                quiet: true,
                cell: (one) =>
                  mayAsk && ['active', 'requested'].includes(one.state) ? (
                    <div className="row">
                      <Button variant="quiet" onClick={() => setReleasing(one)}>
                        Release<span className="sr-only"> {one.name}</span>
                      </Button>
                    </div>
                  ) : null,
              },
            ]}
          />
        )}
      </Show>
      {canOnPlatform('allocations.grant') && <Requests skuOf={skuOf} />}
      {asking && <RequestDialog skus={skus.data ?? []} onClose={() => setAsking(false)} />}
      <Confirm
        open={releasing !== null}
        onClose={() => setReleasing(null)}
        title={`Release ${releasing?.name ?? ''}?`}
        about="What runs on it is stopped first. Its GPUs go back to the platform and are no longer charged."
        verb="Release it"
        danger
        act={async () => {
          if (!releasing) return;
          await call('post', '/api/v1/projects/{project_id}/allocations/{allocation_id}/release', {
            path: { project_id: project.id, allocation_id: releasing.id },
            body: {},
          });
          announce(`${releasing.name} is being released`);
          await refresh('allocations', 'form');
        }}
      />
    </Page>
  );
}

function currentPrices(sku: SkuView | undefined): string {
  const now = sku?.prices.filter((one) => sku.current_price_ids.includes(one.id)) ?? [];
  return now.map(price).join(', ') || '–';
}

function RequestDialog({ skus, onClose }: { skus: SkuView[]; onClose: () => void }) {
  const { project } = useSession();
  const refresh = useRefresh();
  const offered = skus.filter((sku) => !sku.retired);
  if (offered.length === 0) {
    return (
      <Confirm open onClose={onClose} title="Nothing is offered yet" about="An operator of the platform has to offer a SKU first." verb="All right" act={async () => {}} />
    );
  }
  return (
    <Ask
      title="Request an allocation"
      about="Some kinds are granted at once, others by an admin."
      verb="Request it"
      onClose={onClose}
      act={async (form) => {
        const name = String(form.get('name') ?? '').trim();
        const note = String(form.get('note') ?? '').trim();
        const made = await call('post', '/api/v1/projects/{project_id}/allocations', {
          path: { project_id: project.id },
          body: { sku: String(form.get('sku')), ...(name ? { name } : {}), ...(note ? { note } : {}) },
        });
        announce(made.state === 'active' ? `${made.name} is yours` : `${made.name} was requested`);
        await refresh('allocations', 'form');
      }}
    >
      {(error) => (
        <>
          <fieldset>
            <legend>Kind</legend>
            {offered.map((sku, index) => (
              <label key={sku.id} className="choice">
                <input type="radio" name="sku" value={sku.slug} defaultChecked={index === 0} />
                <span>
                  <strong>{sku.display_name}</strong>
                  <span className="muted small">
                    {plural(sku.gpu_count, 'GPU')}
                    {sku.gpu_model ? ` (${sku.gpu_model})` : ''} · {sku.vcpu} vCPU · {mib(sku.memory_mib)} · {currentPrices(sku)} ·{' '}
                    {sku.grant_policy === 'auto' ? 'granted at once' : 'an admin grants it'}
                  </span>
                </span>
              </label>
            ))}
          </fieldset>
          <Field label="Name" hint="Made by the platform if left empty." problem={fieldProblem(error, '/name')}>
            {(props) => <input {...props} name="name" maxLength={40} autoComplete="off" />}
          </Field>
          <Field label="Note for who grants it" problem={fieldProblem(error, '/note')}>
            {(props) => <input {...props} name="note" maxLength={500} autoComplete="off" />}
          </Field>
        </>
      )}
    </Ask>
  );
}

/** What waits for an operator's word. */
function Requests({ skuOf }: { skuOf: (id: string) => SkuView | undefined }) {
  const refresh = useRefresh();
  const { projects } = useSession();
  const waiting = useQuery({
    queryKey: key('allocations', 'requests'),
    queryFn: async ({ signal }) => (await call('get', '/api/v1/allocations', { query: { state: 'requested', limit: 200 }, signal })).items,
  });
  const [deciding, setDeciding] = useState<{ one: Allocation; grant: boolean } | null>(null);
  return (
    <Card title="Requests of all projects">
      <Show query={waiting} what="requests" isEmpty={(list) => list.length === 0} empty={<p className="muted">Nobody waits for an allocation.</p>}>
        {(list) => (
          <Table
            label="Requests"
            rows={list}
            id={(one) => one.id}
            columns={[
              { title: 'Name', cell: (one: Allocation) => <strong>{one.name}</strong> },
              { title: 'Project', cell: (one) => projects.find((project) => project.id === one.project_id)?.display_name ?? <Id text={one.project_id} what="the project's id" /> },
              { title: 'Kind', cell: (one) => skuOf(one.sku_id)?.display_name ?? '' },
              { title: 'Note', cell: (one) => one.note ?? '' },
              {
                title: 'Actions',
                quiet: true,
                cell: (one) => (
                  <div className="row">
                    <Button onClick={() => setDeciding({ one, grant: true })}>
                      Grant<span className="sr-only"> {one.name}</span>
                    </Button>
                    <Button variant="quiet" onClick={() => setDeciding({ one, grant: false })}>
                      Turn down<span className="sr-only"> {one.name}</span>
                    </Button>
                  </div>
                ),
              },
            ]}
          />
        )}
      </Show>
      <Confirm
        open={deciding !== null}
        onClose={() => setDeciding(null)}
        title={deciding?.grant ? `Grant ${deciding.one.name}?` : `Turn ${deciding?.one.name ?? ''} down?`}
        about={deciding?.grant ? 'A node with room is chosen, and its devices belong to the project until it releases them.' : 'The project is told so.'}
        verb={deciding?.grant ? 'Grant it' : 'Turn it down'}
        danger={!deciding?.grant}
        act={async () => {
          if (!deciding) return;
          const path = { allocation_id: deciding.one.id };
          if (deciding.grant) await call('post', '/api/v1/allocations/{allocation_id}/grant', { path, body: {} });
          else await call('post', '/api/v1/allocations/{allocation_id}/deny', { path, body: {} });
          announce(deciding.grant ? 'Granted' : 'Turned down');
          await refresh('allocations', 'form');
        }}
      />
    </Card>
  );
}
