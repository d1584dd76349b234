import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { key, useRefresh } from '../../api/queries';
import type { Node } from '../../api/schema';
import { useSession } from '../../session/session';
import { announce } from '../../ui/announce';
import { Ask } from '../../ui/ask';
import { Badge, Button, Page, Simulated, Tag } from '../../ui/basics';
import { Confirm } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { mib, plural } from '../../ui/format';
import { ShownOnce } from '../../ui/secret';
import { Empty, Show } from '../../ui/states';
import { Table } from '../../ui/table';
import { Ago } from '../../ui/time';

type Verb = 'cordon' | 'uncordon' | 'drain';

const ABOUT: Record<Verb, string> = {
  cordon: 'No new work is placed on it; what runs goes on.',
  uncordon: 'New work may be placed on it again.',
  drain: 'It is cordoned, and everything that runs on it is stopped.',
};

export default function Nodes() {
  const { canOnPlatform } = useSession();
  const refresh = useRefresh();
  const [asking, setAsking] = useState<{ node: Node; verb: Verb } | null>(null);
  const [joining, setJoining] = useState(false);
  const [token, setToken] = useState<{ token: string; server: string } | null>(null);
  const nodes = useQuery({
    queryKey: key('nodes'),
    queryFn: async ({ signal }) => (await call('get', '/api/v1/nodes', { query: { limit: 200 }, signal })).items,
    refetchInterval: 10_000,
  });
  const mayManage = canOnPlatform('nodes.manage');
  return (
    <Page
      title="Nodes"
      lead="Machines of the platform"
      actions={
        mayManage && (
          <Button variant="primary" onClick={() => setJoining(true)}>
            Add a node
          </Button>
        )
      }
    >
      <Show query={nodes} what="nodes" isEmpty={(list) => list.length === 0} empty={<Empty title="No machine has joined yet">Make a join token and run the agent with it on the machine.</Empty>}>
        {(list) => (
          <Table
            label="Nodes"
            rows={list}
            id={(one) => one.id}
            columns={[
              {
                title: 'Name',
                cell: (one: Node) => (
                  <span className="row">
                    <strong>{one.name}</strong> <Simulated when={one.simulated} />
                  </span>
                ),
              },
              {
                title: 'State',
                cell: (one) => (
                  <span>
                    <State node={one} />
                    {one.reasons.map((reason) => (
                      <span key={reason.code} className="hint block">
                        {reason.message}
                      </span>
                    ))}
                  </span>
                ),
              },
              { title: 'GPUs', cell: (one) => gpus(one) },
              { title: 'Size', cell: (one) => `${one.inventory.cpus} CPU, ${mib(one.inventory.memory_mib)}` },
              { title: 'Agent', cell: (one) => <Tag>{one.agent_version}</Tag> },
              { title: 'Seen', cell: (one) => (one.agent_connected_at ? 'now' : one.last_seen_at ? <Ago at={one.last_seen_at} /> : 'never') },
              {
                title: 'Actions',
                quiet: true,
                cell: (one) =>
                  mayManage && one.standing === 'active' ? (
                    <div className="row">
                      <Button variant="quiet" onClick={() => setAsking({ node: one, verb: one.cordoned ? 'uncordon' : 'cordon' })}>
                        {one.cordoned ? 'Uncordon' : 'Cordon'}
                        <span className="sr-only"> {one.name}</span>
                      </Button>
                      <Button variant="quiet" onClick={() => setAsking({ node: one, verb: 'drain' })}>
                        Drain<span className="sr-only"> {one.name}</span>
                      </Button>
                    </div>
                  ) : null,
              },
            ]}
          />
        )}
      </Show>
      <Confirm
        open={asking !== null}
        onClose={() => setAsking(null)}
        title={asking ? `${asking.verb.charAt(0).toUpperCase()}${asking.verb.slice(1)} ${asking.node.name}?` : ''}
        about={asking ? ABOUT[asking.verb] : ''}
        verb={asking ? `${asking.verb.charAt(0).toUpperCase()}${asking.verb.slice(1)}` : ''}
        danger={asking?.verb === 'drain'}
        act={async () => {
          if (!asking) return;
          const path = { node_id: asking.node.id };
          if (asking.verb === 'cordon') await call('post', '/api/v1/nodes/{node_id}/cordon', { path, body: {} });
          else if (asking.verb === 'uncordon') await call('post', '/api/v1/nodes/{node_id}/uncordon', { path, body: {} });
          else await call('post', '/api/v1/nodes/{node_id}/drain', { path, body: {} });
          announce('Done');
          await refresh('nodes');
        }}
      />
      {joining && (
        <Ask
          title="Add a node"
          about="A join token lets one machine become a node."
          verb="Make the token"
          onClose={() => setJoining(false)}
          act={async (form) => {
            const name = String(form.get('name') ?? '').trim();
            const made = await call('post', '/api/v1/nodes/join-tokens', { body: name ? { name } : {} });
            if (made.token) setToken({ token: made.token, server: made.server });
          }}
        >
          {() => (
            <Field label="Name of the node" hint="The machine's own name if left empty.">
              {(props) => <input {...props} name="name" maxLength={40} autoComplete="off" />}
            </Field>
          )}
        </Ask>
      )}
      {token && (
        <ShownOnce
          title="Run this on the machine"
          about="The token works once. It is shown only now."
          secret={`gpuaas-agent join --server ${token.server} --token ${token.token}`}
          onClose={() => setToken(null)}
        />
      )}
    </Page>
  );
}

function State({ node }: { node: Node }) {
  if (node.standing !== 'active') return <Badge>{node.standing}</Badge>;
  if (node.draining) return <Badge tone="busy">draining</Badge>;
  if (node.cordoned) return <Badge tone="warn">cordoned</Badge>;
  return node.ready ? <Badge tone="good">ready</Badge> : <Badge tone="bad">not ready</Badge>;
}

function gpus(node: Node): string {
  const models = new Map<string, number>();
  for (const gpu of node.inventory.gpus) models.set(gpu.model, (models.get(gpu.model) ?? 0) + 1);
  if (models.size === 0) return 'none';
  return [...models].map(([model, count]) => `${count} × ${model}`).join(', ') || plural(node.inventory.gpus.length, 'GPU');
}
