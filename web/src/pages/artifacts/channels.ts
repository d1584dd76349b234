import type { Artifact } from '../../api/schema';

/** Promotion goes channel by channel. One that is not known any more counts as none. */
export function nextChannel(order: string[], one: Pick<Artifact, 'channel' | 'status'>): string | undefined {
  if (one.status !== 'published' && one.status !== 'promoted') return undefined;
  return order[order.indexOf(one.channel ?? '') + 1];
}
