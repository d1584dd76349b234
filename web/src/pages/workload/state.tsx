import type { Instance } from '../../api/schema';
import { Badge, type Tone } from '../../ui/basics';

type Stateful = Pick<Instance, 'status' | 'current_operation' | 'health' | 'decommissioned_at'>;

const DOING: Record<string, string> = {
  deploy: 'Deploying',
  upgrade: 'Upgrading',
  rollback: 'Rolling back',
  start: 'Starting',
  stop: 'Stopping',
  decommission: 'Removing',
};

/** One word for people, and how it should look. */
export function stateOf(instance: Stateful): { word: string; tone: Tone } {
  if (instance.decommissioned_at) return { word: 'Ended', tone: 'neutral' };
  if (instance.status === 'failed') return { word: 'Failed', tone: 'bad' };
  if (instance.current_operation) return { word: DOING[instance.current_operation] ?? 'Working', tone: 'busy' };
  switch (instance.status) {
    case 'running':
      return instance.health === 'unhealthy' ? { word: 'Unhealthy', tone: 'warn' } : { word: 'Running', tone: 'good' };
    case 'stopped':
      return { word: 'Stopped', tone: 'neutral' };
    case 'stopping':
      return { word: 'Stopping', tone: 'busy' };
    case 'created':
    case 'starting':
      return { word: 'Starting', tone: 'busy' };
  }
}

export function StateBadge({ instance }: { instance: Stateful }) {
  const { word, tone } = stateOf(instance);
  return <Badge tone={tone}>{word}</Badge>;
}
