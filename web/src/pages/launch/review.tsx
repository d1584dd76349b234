import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { ApiError } from '../../api/error';
import { useRefresh } from '../../api/queries';
import type { AppForm, LaunchRequest, Plan, PlanView } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Button, CommandLine } from '../../ui/basics';
import { Modal } from '../../ui/dialog';
import { plural } from '../../ui/format';
import { Loading, Problem } from '../../ui/states';
import { ComponentTable } from './lanes';
import { planChanges, planLines, refusal } from './plan';
import { Checks, Engines, QuoteLines } from './planned';

interface Props {
  request: LaunchRequest;
  form: AppForm;
  onClose: () => void;
  onLaunched: (id: string) => void;
}

/** What exactly would happen, before it does. If the world moves meanwhile, what moved is shown and asked again. */
export function Review({ request, form, onClose, onLaunched }: Props) {
  const { project } = useSession();
  const refresh = useRefresh();
  const planned = useQuery({
    queryKey: ['plan', project.id, request],
    queryFn: async ({ signal }): Promise<PlanView> =>
      call('post', '/api/v1/projects/{project_id}/app-instances/plan', { path: { project_id: project.id }, body: request, signal }),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  const [newer, setNewer] = useState<PlanView | null>(null);
  const [moved, setMoved] = useState<ReturnType<typeof planChanges> | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const view = newer ?? planned.data;
  const plan = view?.plan;
  const refused = view ? refusal(view.plan.checks) : null;

  const launch = async () => {
    if (!view) return;
    setBusy(true);
    setError(null);
    try {
      const instance = await call('post', '/api/v1/projects/{project_id}/app-instances', {
        path: { project_id: project.id },
        body: { ...request, plan_digest: view.plan_digest },
      });
      announce(`${instance.name} is being launched`);
      await refresh('instances');
      onLaunched(instance.id);
    } catch (refusal) {
      const changed = refusal instanceof ApiError && refusal.code === 'plan_changed' ? changedPlan(refusal) : null;
      if (changed) {
        setMoved(planChanges(view.plan, changed.plan));
        setNewer(changed);
      } else setError(refusal);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Modal
      open
      onClose={onClose}
      title={`Launch ${form.app.display_name}?`}
      about={refused === null ? 'This is what will happen. Nothing has started yet.' : 'This is what would happen. Nothing has started.'}
    >
      {!view && !planned.isError && <Loading what="the plan" lines={6} />}
      {planned.isError && <Problem error={planned.error} title="This cannot be launched" retry={() => void planned.refetch()} />}
      {moved && (
        <div className="notice" role="alert">
          <strong>Something has changed since you looked.</strong> Nothing was started; look again and decide.
          <ul className="plain-list">
            {moved.map((one) => (
              <li key={one.what}>
                {one.what}: <del>{one.before}</del> → <ins>{one.after}</ins>
              </li>
            ))}
          </ul>
        </div>
      )}
      {view && (
        <dl className="plan">
          {planLines(view.plan).map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {plan && plan.components.length > 1 && (
        <details>
          <summary>{plural(plan.components.length, 'component')}</summary>
          <ComponentTable components={plan.components.map((one) => ({ ...one, runs: true, gpu_count: one.gpus.length }))} />
        </details>
      )}
      {plan && <QuoteLines quote={plan.quote} />}
      {plan && plan.checks.length > 0 && <Checks checks={plan.checks} />}
      {plan && plan.engines.length > 0 && <Engines engines={plan.engines} />}
      <details>
        <summary>The same with the command line</summary>
        <CommandLine command={form.command} />
      </details>
      {error !== null && <Problem error={error} title="It was not launched" />}
      {refused !== null && (
        <p className="notice" role="alert">
          {refused}
        </p>
      )}
      <div className="row end">
        <Button onClick={onClose}>Back</Button>
        {view && refused === null && (
          <Button variant="primary" busy={busy} onClick={() => void launch()}>
            {moved ? 'Launch all the same' : 'Launch'}
          </Button>
        )}
      </div>
    </Modal>
  );
}

function changedPlan(error: ApiError): PlanView | null {
  const { plan, plan_digest: digest } = error.params;
  return plan && typeof digest === 'string' ? { plan: plan as Plan, plan_digest: digest } : null;
}
