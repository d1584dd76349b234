import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { fieldProblem } from '../../api/error';
import { announce } from '../../ui/announce';
import { Ask } from '../../ui/ask';
import { Button, CommandLine, Page } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { ShownOnce } from '../../ui/secret';
import { Empty, Show } from '../../ui/states';
import { Table } from '../../ui/table';
import { Ago, Until } from '../../ui/time';
import type { PersonalToken } from '../../api/schema';

export default function Tokens() {
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<PersonalToken | null>(null);
  const tokens = useQuery({
    queryKey: ['tokens'],
    queryFn: async ({ signal }) => (await call('get', '/api/v1/auth/tokens', { query: { limit: 200 }, signal })).items,
  });
  return (
    <Page
      title="Personal tokens"
      lead="They let the command line and scripts act as you"
      actions={
        <Button variant="primary" onClick={() => setMaking(true)}>
          New token
        </Button>
      }
    >
      <Show query={tokens} what="your tokens" isEmpty={(list) => list.length === 0} empty={<Empty title="You have no tokens">Make one to use the command line from another machine.</Empty>}>
        {(list) => (
          <Table
            label="Personal tokens"
            rows={list}
            id={(one) => one.id}
            columns={[
              { title: 'Name', cell: (one: PersonalToken) => <strong>{one.name}</strong> },
              { title: 'Made', cell: (one) => <Ago at={one.created_at} /> },
              { title: 'Expires', cell: (one) => <Until at={one.expires_at} /> },
              {
                title: 'Actions',
                quiet: true,
                cell: (one) => (
                  <div className="row">
                    <Button variant="quiet" onClick={() => setRevoking(one)}>
                      Revoke<span className="sr-only"> {one.name}</span>
                    </Button>
                  </div>
                ),
              },
            ]}
          />
        )}
      </Show>
      <div className="stack">
        <h2>Use it</h2>
        <CommandLine command={`GPUAAS_URL=${location.origin} GPUAAS_TOKEN=<token> gpuaas whoami`} what="a command with the token" />
      </div>
      {making && (
        <Ask
          title="New personal token"
          verb="Make it"
          onClose={() => setMaking(false)}
          act={async (form) => {
            const made = await call('post', '/api/v1/auth/tokens', {
              body: { name: String(form.get('name') ?? ''), expires_in_days: Number(form.get('days')) },
            });
            setSecret(made.secret ?? null);
            await tokens.refetch();
          }}
        >
          {(error) => (
            <>
              <Field label="Name" hint="Where it is used, for example: laptop." problem={fieldProblem(error, '/name')}>
                {(props) => <input {...props} name="name" required maxLength={80} autoComplete="off" />}
              </Field>
              <Field label="Valid for" problem={fieldProblem(error, '/expires_in_days')}>
                {(props) => (
                  <select {...props} name="days" defaultValue="30">
                    <option value="7">7 days</option>
                    <option value="30">30 days</option>
                    <option value="90">90 days</option>
                  </select>
                )}
              </Field>
            </>
          )}
        </Ask>
      )}
      {secret && <ShownOnce title="Your new token" about="Keep it now: it is shown only this once." secret={secret} onClose={() => setSecret(null)} />}
      <Confirm
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        title={`Revoke ${revoking?.name ?? ''}?`}
        about="Whatever uses it is refused from now on."
        verb="Revoke it"
        danger
        act={async () => {
          if (!revoking) return;
          await call('delete', '/api/v1/auth/tokens/{token_id}', { path: { token_id: revoking.id } });
          announce(`${revoking.name} was revoked`);
          await tokens.refetch();
        }}
      />
    </Page>
  );
}
