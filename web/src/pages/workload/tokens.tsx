import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { fieldProblem } from '../../api/error';
import type { EndpointToken, EndpointView, InstanceDetail } from '../../api/schema';
import { announce } from '../../ui/announce';
import { Ask } from '../../ui/ask';
import { Button, CommandLine } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { ShownOnce } from '../../ui/secret';
import { Show } from '../../ui/states';
import { Until } from '../../ui/time';

const TOKENS = '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/tokens' as const;

/** Tokens that let a program reach one endpoint without a browser. */
export function EndpointTokens({ instance, endpoint }: { instance: InstanceDetail; endpoint: EndpointView }) {
  const [open, setOpen] = useState(false);
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<EndpointToken | null>(null);
  const path = { project_id: instance.project_id, app_instance_id: instance.id, endpoint: endpoint.name };
  const tokens = useQuery({
    queryKey: ['endpoint-tokens', instance.id, endpoint.name],
    queryFn: async ({ signal }) => (await call('get', TOKENS, { path, signal })).items,
    enabled: open,
  });
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>For programs</summary>
      <div className="stack">
        <CommandLine command={`curl -H "Authorization: Bearer $TOKEN" ${endpoint.url ?? ''}`} what="an example call" />
        <Show query={tokens} what="tokens" lines={1} isEmpty={(list) => list.length === 0} empty={<p className="muted small">No tokens for this endpoint.</p>}>
          {(list) => (
            <ul className="rows inset">
              {list.map((one) => (
                <li key={one.id} className="row-link">
                  <span className="row-main">
                    <strong>{one.name}</strong>
                    <span className="muted small">
                      expires <Until at={one.expires_at} />
                    </span>
                  </span>
                  <Button variant="quiet" onClick={() => setRevoking(one)}>
                    Revoke<span className="sr-only"> {one.name}</span>
                  </Button>
                </li>
              ))}
            </ul>
          )}
        </Show>
        <div className="row">
          <Button onClick={() => setMaking(true)}>New token</Button>
        </div>
      </div>
      {making && (
        <Ask
          title={`New token for ${endpoint.title ?? endpoint.name}`}
          about="It opens this endpoint of this instance and nothing else."
          verb="Make it"
          onClose={() => setMaking(false)}
          act={async (form) => {
            const made = await call('post', TOKENS, { path, body: { name: String(form.get('name') ?? '') } });
            setSecret(made.token ?? null);
            await tokens.refetch();
          }}
        >
          {(error) => (
            <Field label="Name" problem={fieldProblem(error, '/name')}>
              {(props) => <input {...props} name="name" required maxLength={120} autoComplete="off" />}
            </Field>
          )}
        </Ask>
      )}
      {secret && <ShownOnce title="The token" about="Keep it now: it is shown only this once." secret={secret} onClose={() => setSecret(null)} />}
      <Confirm
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        title={`Revoke ${revoking?.name ?? ''}?`}
        about="Whatever uses it is refused within seconds."
        verb="Revoke it"
        danger
        act={async () => {
          if (!revoking) return;
          await call('delete', `${TOKENS}/{token_id}`, { path: { ...path, token_id: revoking.id } });
          announce('Revoked');
          await tokens.refetch();
        }}
      />
    </details>
  );
}
