import type { Plan } from '../../api/schema';
import { cpus, mib, plural, price } from '../../ui/format';

/** A plan in words, one line per thing that matters to who launches it. */
export function planLines(plan: Plan): [string, string][] {
  const lines: [string, string][] = [
    ['Version', plan.app_version],
    ['Image', `${plan.artifact.reference}`],
    ['Image digest', plan.artifact_digest],
    ['Trust', plan.artifact.signer ? `${plan.artifact.trust}, signed by ${plan.artifact.signer.slice(0, 19)}…` : plan.artifact.trust],
    ['Node', plan.node_name + (plan.simulated ? ' (simulated)' : '')],
    ['GPUs', plan.gpu_ids.length === 0 ? 'none' : `${plural(plan.gpu_ids.length, 'GPU')}`],
    ['CPU and memory', `${cpus(plan.cpu_millis)}, ${mib(plan.memory_mib)}`],
    ['Ports', plan.endpoints.map((one) => `${one.name} (${one.port})`).join(', ') || 'none'],
    ['Price of the allocation', plan.prices.map(price).join(', ') || 'no price set'],
  ];
  const folders = plan.rendered.components.flatMap((component) => component.scratch ?? []);
  lines.push(['Storage', folders.map((one) => `${one.path} (scratch)`).join(', ') || 'none']);
  return lines;
}

/** What differs between two plans, in the same words. */
export function planChanges(before: Plan, after: Plan): { what: string; before: string; after: string }[] {
  const old = new Map(planLines(before));
  const changes = planLines(after)
    .filter(([what, text]) => old.get(what) !== text)
    .map(([what, text]) => ({ what, before: old.get(what) ?? '', after: text }));
  if (changes.length === 0) changes.push({ what: 'Details', before: before.rendered_digest, after: after.rendered_digest });
  return changes;
}
