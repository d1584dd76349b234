import { useReceipt } from '../../api/queries';
import type { InstanceDetail } from '../../api/schema';
import { Badge, Card, Copy, Fact, Facts, Short } from '../../ui/basics';
import { date, plural, words } from '../../ui/format';
import { Show } from '../../ui/states';

interface Told {
  removed?: { kind: string; name: string }[];
  left?: Record<string, number>;
  generation?: number;
  simulated?: boolean;
}

export function Receipt({ instance }: { instance: InstanceDetail }) {
  const receipt = useReceipt(instance.project_id, instance.id, true);
  return (
    <Show query={receipt} what="the receipt" lines={5}>
      {(view) => {
        const told = parse(view.payload);
        const left = Object.entries(told.left ?? {});
        const nothing = left.length > 0 && left.every(([, count]) => count === 0);
        return (
          <Card
            title="Receipt"
            actions={view.attested ? <Badge tone="good">Attested by the node</Badge> : <Badge tone="warn">Not attested</Badge>}
          >
            <p className="receipt-line">
              {nothing
                ? 'Nothing of this instance is left on its node.'
                : view.attested
                  ? 'The node looked for what was left of this instance.'
                  : 'Nobody could ask the node; it was ended without its word.'}
            </p>
            {view.reason && <p>Reason: {view.reason}</p>}
            {left.length > 0 && (
              <Facts>
                {left.map(([what, count]) => (
                  <Fact key={what} name={`${words(what)} left`}>
                    {count}
                  </Fact>
                ))}
              </Facts>
            )}
            {told.removed && told.removed.length > 0 && (
              <details>
                <summary>{plural(told.removed.length, 'thing was', 'things were')} removed</summary>
                <ul className="plain-list">
                  {told.removed.map((one) => (
                    <li key={one.kind + one.name}>
                      {one.kind} <code>{one.name}</code>
                    </li>
                  ))}
                </ul>
              </details>
            )}
            <Facts>
              <Fact name="Ended">{date(view.created_at)}</Fact>
              {view.signature && (
                <Fact name="Signature">
                  <Short text={view.signature} what="the signature" />
                </Fact>
              )}
              {view.node_public_key && (
                <Fact name="Key of the node">
                  <Short text={view.node_public_key} what="the node's key" />
                </Fact>
              )}
            </Facts>
            <details>
              <summary>The signed text</summary>
              <div className="command">
                <pre>{view.payload}</pre>
                <Copy text={view.payload} what="the signed text" />
              </div>
            </details>
          </Card>
        );
      }}
    </Show>
  );
}

function parse(payload: string): Told {
  try {
    return JSON.parse(payload) as Told;
  } catch {
    return {};
  }
}
