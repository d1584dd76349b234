import { useState } from 'react';
import { call } from '../../api/client';
import { useRefresh } from '../../api/queries';
import type { AppForm } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Button, Simulated, Tag } from '../../ui/basics';
import { cpus, mib, plural, price } from '../../ui/format';
import { Problem } from '../../ui/states';

interface Props {
  form: AppForm;
  problem: string | undefined;
  choose: (id: string) => void;
}

/** The allocations that fit, to choose from; those that do not, with every reason; and what could be requested instead. */
export function AllocationChoice({ form, problem, choose }: Props) {
  const fitting = form.allocations.filter((one) => one.fits || one.id === form.allocation_id);
  const others = form.allocations.filter((one) => !fitting.includes(one));
  return (
    <>
      <fieldset>
        <legend>Allocation</legend>
        {fitting.length === 0 && <p>{form.allocations.length === 0 ? 'This project has no allocation yet.' : 'No allocation of this project fits.'}</p>}
        {fitting.map((one) => (
          <label key={one.id} className="choice">
            <input type="radio" name="allocation" checked={one.id === form.allocation_id} onChange={() => choose(one.id)} />
            <span>
              <span className="row">
                <strong>{one.name}</strong>
                <Tag>{one.sku}</Tag>
                <Simulated when={one.simulated} />
              </span>
              <span className="muted small">
                {plural(one.gpu_count, 'GPU')}
                {one.gpu_model ? ` (${one.gpu_model})` : ''}
                {one.node_name ? ` on ${one.node_name}` : ''} · free: {plural(one.free.gpu_count, 'GPU')}, {cpus(one.free.cpu_millis)},{' '}
                {mib(one.free.memory_mib)}
                {one.prices.length > 0 ? ` · ${one.prices.map(price).join(', ')}` : ''}
              </span>
              {one.reasons.map((reason) => (
                <span key={reason.code + reason.message} className="field-problem block">
                  {reason.message}
                </span>
              ))}
            </span>
          </label>
        ))}
        {problem && fitting.length > 0 && <p className="field-problem">{problem}</p>}
      </fieldset>
      {others.length > 0 && (
        <details>
          <summary>{plural(others.length, 'allocation does', 'allocations do')} not fit: why?</summary>
          <ul className="reasons">
            {others.map((one) => (
              <li key={one.id}>
                <strong>{one.name}</strong>{' '}
                <span className="muted small">
                  {one.sku}, {plural(one.gpu_count, 'GPU')}
                </span>
                <ul>
                  {one.reasons.map((reason) => (
                    <li key={reason.code + reason.message}>{reason.message}</li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </details>
      )}
      <Offers form={form} open={fitting.length === 0} />
    </>
  );
}

function Offers({ form, open }: { form: AppForm; open: boolean }) {
  const { project, can } = useSession();
  const refresh = useRefresh();
  const [busy, setBusy] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [asked, setAsked] = useState<string | null>(null);
  const offers = form.offers.filter((one) => one.fits);
  if (offers.length === 0) return null;
  const request = async (sku: string, byAdmin: boolean) => {
    setBusy(sku);
    setError(null);
    try {
      await call('post', '/api/v1/projects/{project_id}/allocations', { path: { project_id: project.id }, body: { sku } });
      const sentence = byAdmin ? 'Requested. An admin has to grant it; this form goes on by itself when they have.' : 'Requested; it is granted at once.';
      setAsked(sentence);
      announce(sentence);
      await refresh('allocations', 'form');
    } catch (refusal) {
      setError(refusal);
    } finally {
      setBusy('');
    }
  };
  return (
    <details open={open}>
      <summary>Request another allocation</summary>
      <ul className="rows inset">
        {offers.map((one) => (
          <li key={one.sku_id} className="row-link">
            <span className="row-main">
              <strong>{one.display_name}</strong>
              <span className="muted small">
                {plural(one.gpu_count, 'GPU')}
                {one.gpu_model ? ` (${one.gpu_model})` : ''} · {one.vcpu} vCPU · {mib(one.memory_mib)} ·{' '}
                {one.grant_policy === 'auto' ? 'granted at once' : 'an admin grants it'}
              </span>
            </span>
            <Button
              busy={busy === one.slug}
              reason={can('allocations.request') ? undefined : 'Your role does not let you request allocations; ask an admin of the project.'}
              onClick={() => void request(one.slug, one.grant_policy !== 'auto')}
            >
              Request<span className="sr-only"> {one.display_name}</span>
            </Button>
          </li>
        ))}
      </ul>
      {asked && <p className="notice info">{asked}</p>}
      {error !== null && <Problem error={error} title="The request was refused" />}
    </details>
  );
}
