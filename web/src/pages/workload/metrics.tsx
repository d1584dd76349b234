import { useEffect, useState } from 'react';
import { useStats } from '../../api/queries';
import type { ComponentStats, InstanceDetail } from '../../api/schema';
import { Card, Fact, Facts, Simulated } from '../../ui/basics';
import { bytes, cpus } from '../../ui/format';
import { Empty, Show } from '../../ui/states';

const SAMPLES = 60;

export function Metrics({ instance }: { instance: InstanceDetail }) {
  const running = instance.status === 'running';
  const stats = useStats(instance.project_id, instance.id, running);
  const [history, setHistory] = useState<ComponentStats[][]>([]);
  const { data, dataUpdatedAt } = stats;
  useEffect(() => {
    if (data) setHistory((old) => [...old, data.components].slice(-SAMPLES));
    // One sample per answer, also where two answers are alike.
  }, [data, dataUpdatedAt]);
  if (!running) return <Empty title="Nothing to measure">Figures are shown while the app runs.</Empty>;
  return (
    <Show query={stats} what="the figures" isEmpty={(now) => now.components.length === 0} empty={<Empty title="No component runs at the moment" />}>
      {(now) => (
        <>
          {now.components.map((one) => (
            <Component key={one.name} now={one} simulated={now.simulated} history={history.flatMap((sample) => sample.filter((each) => each.name === one.name))} />
          ))}
        </>
      )}
    </Show>
  );
}

function Component({ now, history, simulated }: { now: ComponentStats; history: ComponentStats[]; simulated: boolean }) {
  const share = now.memory_limit_bytes > 0 ? ` of ${bytes(now.memory_limit_bytes)}` : '';
  return (
    <Card title={now.name} actions={<Simulated when={simulated} />}>
      <div className="charts">
        <Chart title="CPU" value={cpus(now.cpu_millis)} points={history.map((one) => one.cpu_millis)} floor={100} />
        <Chart title="Memory" value={bytes(now.memory_bytes) + share} points={history.map((one) => one.memory_bytes)} floor={now.memory_limit_bytes} />
      </div>
      <Facts>
        <Fact name="Received">{bytes(now.network_rx_bytes)}</Fact>
        <Fact name="Sent">{bytes(now.network_tx_bytes)}</Fact>
        <Fact name="Processes">{now.pids}</Fact>
      </Facts>
    </Card>
  );
}

/** The last two minutes; the number beside it is what counts. */
function Chart({ title, value, points, floor }: { title: string; value: string; points: number[]; floor: number }) {
  const top = Math.max(floor, ...points, 1);
  const line = points.map((point, index) => `${(index / (SAMPLES - 1)) * 300},${58 - (point / top) * 54}`).join(' ');
  return (
    <figure>
      <figcaption>
        <span className="muted small">{title}</span>
        <strong>{value}</strong>
      </figcaption>
      <svg viewBox="0 0 300 60" preserveAspectRatio="none" role="img" aria-label={`${title}: ${value}`}>
        <polyline points={line} />
      </svg>
    </figure>
  );
}
