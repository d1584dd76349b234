import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { fieldProblem } from '../../api/error';
import { key, useRefresh } from '../../api/queries';
import type { Role, ServiceAccount, ServiceAccountWithKey } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Ask } from '../../ui/ask';
import { Badge, Button, Id, Page } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { RowMenu } from '../../ui/menu';
import { Empty, Show } from '../../ui/states';
import { Table } from '../../ui/table';
import { Ago } from '../../ui/time';
import { NewKey } from './key';

type Verb = 'disable' | 'rotate' | 'delete';

const WORDS: Record<Verb, { title: string; about: string; verb: string }> = {
  disable: { title: 'Disable', about: 'It and every token it holds are refused at once.', verb: 'Disable it' },
  rotate: { title: 'New key for', about: 'It gets a new key, shown once. The old one works a little longer, so that you can change over.', verb: 'Make a new key' },
  delete: { title: 'Delete', about: 'It is gone for good; what it has done stays in the audit.', verb: 'Delete it' },
};

/** Built-in roles that are made for something else than a project. */
const ELSEWHERE = ['platform-admin', 'tenant-admin', 'app'];

export default function ServiceAccounts() {
  const { project, can } = useSession();
  const refresh = useRefresh();
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<ServiceAccountWithKey | null>(null);
  const [asking, setAsking] = useState<{ one: ServiceAccount; verb: Verb } | null>(null);
  const mayManage = can('service_accounts.manage');
  const path = { project_id: project.id };
  // Nobody can give more than they may do themselves.
  const offered = (role: Role) => !ELSEWHERE.includes(role.slug) && role.permissions.every((one) => can(one));
  const accounts = useQuery({
    queryKey: key('service-accounts', project.id),
    queryFn: async ({ signal }) => (await call('get', '/api/v1/projects/{project_id}/service-accounts', { path, query: { limit: 200 }, signal })).items,
  });
  const roles = useQuery({
    queryKey: ['roles'],
    queryFn: async ({ signal }) => (await call('get', '/api/v1/roles', { query: { limit: 200 }, signal })).items,
    enabled: making,
  });
  return (
    <Page
      title="Service accounts"
      lead={`Machines that act in ${project.display_name}`}
      actions={
        <Button variant="primary" reason={mayManage ? undefined : 'Your role does not let you manage service accounts.'} onClick={() => setMaking(true)}>
          New service account
        </Button>
      }
    >
      <Show
        query={accounts}
        what="service accounts"
        isEmpty={(list) => list.length === 0}
        empty={<Empty title="No service accounts">Make one for a pipeline or another machine that should act here by itself.</Empty>}
      >
        {(list) => (
          <Table
            label="Service accounts"
            rows={list}
            id={(one) => one.id}
            columns={[
              { title: 'Name', cell: (one: ServiceAccount) => <strong>{one.name}</strong> },
              { title: 'State', cell: (one) => <Badge tone={one.state === 'active' ? 'good' : 'neutral'}>{one.state}</Badge> },
              { title: 'Id', cell: (one) => <Id text={one.id} what="the account's id" /> },
              { title: 'Made', cell: (one) => <Ago at={one.created_at} /> },
              {
                title: 'Actions',
                quiet: true,
                cell: (one) =>
                  mayManage && one.state !== 'deleted' ? (
                    <RowMenu
                      label={`Actions for ${one.name}`}
                      items={[
                        ...(one.state === 'active'
                          ? [
                              { text: 'New key', act: () => setAsking({ one, verb: 'rotate' as const }) },
                              { text: 'Disable', act: () => setAsking({ one, verb: 'disable' as const }) },
                            ]
                          : []),
                        { text: 'Delete', act: () => setAsking({ one, verb: 'delete' as const }) },
                      ]}
                    />
                  ) : null,
              },
            ]}
          />
        )}
      </Show>
      {making && (
        <Ask
          title="New service account"
          about="It gets a private key, shown once, and signs in with that."
          verb="Make it"
          onClose={() => setMaking(false)}
          act={async (form) => {
            const role = String(form.get('role') ?? '');
            const answer = await call('post', '/api/v1/projects/{project_id}/service-accounts', {
              path,
              body: { key_delivery: 'inline', name: String(form.get('name') ?? ''), ...(role ? { roles: [role] } : {}) },
            });
            setMade(answer);
            await refresh('service-accounts');
          }}
        >
          {(error) => (
            <>
              <Field label="Name" problem={fieldProblem(error, '/name')}>
                {(props) => <input {...props} name="name" required maxLength={40} autoComplete="off" />}
              </Field>
              <Field label="Role in this project" hint="At most what you may do yourself." problem={fieldProblem(error, '/roles/0') ?? fieldProblem(error, '/roles')}>
                {(props) => (
                  <select {...props} name="role" defaultValue="">
                    <option value="">None for now</option>
                    {(roles.data ?? []).filter(offered).map((role) => (
                      <option key={role.id} value={role.slug}>
                        {role.display_name}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
            </>
          )}
        </Ask>
      )}
      {made?.private_key_pem && <NewKey made={made} onClose={() => setMade(null)} />}
      <Confirm
        open={asking !== null}
        onClose={() => setAsking(null)}
        title={asking ? `${WORDS[asking.verb].title} ${asking.one.name}?` : ''}
        about={asking ? WORDS[asking.verb].about : ''}
        verb={asking ? WORDS[asking.verb].verb : ''}
        danger={asking?.verb !== 'rotate'}
        act={async () => {
          if (!asking) return;
          const place = { ...path, service_account_id: asking.one.id };
          if (asking.verb === 'disable') {
            await call('post', '/api/v1/projects/{project_id}/service-accounts/{service_account_id}/disable', { path: place });
          } else if (asking.verb === 'delete') {
            await call('delete', '/api/v1/projects/{project_id}/service-accounts/{service_account_id}', { path: place, version: asking.one.version });
          } else {
            setMade(await call('post', '/api/v1/projects/{project_id}/service-accounts/{service_account_id}/rotate-key', { path: place, body: { key_delivery: 'inline' } }));
          }
          announce('Done');
          await refresh('service-accounts');
        }}
      />
    </Page>
  );
}
