import type { Plan, PlanCheck } from '../../api/schema';
import { cpus, mib, mountWords, plural, price, visible } from '../../ui/format';

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
  for (const [name, value] of Object.entries(plan.values)) {
    lines.push([`Parameter ${name}`, visible(typeof value === 'string' ? value : JSON.stringify(value))]);
  }
  for (const mount of plan.mounts) lines.push([`Storage ${mount.name}`, `${mount.path}: ${mountWords(mount)}`]);
  const declared = new Set(plan.mounts.map((mount) => mount.path));
  const folders = (plan.rendered?.components ?? []).flatMap((component) => component.scratch ?? []).filter((one) => !declared.has(one.path));
  if (folders.length > 0) lines.push(['Other storage', folders.map((one) => `${one.path} (scratch)`).join(', ')]);
  if (plan.mounts.length + folders.length === 0) lines.push(['Storage', 'none']);
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

/** Why this cannot be launched although it could be planned; nothing where it can. */
export function refusal(checks: PlanCheck[]): string | null {
  const failed = checks.filter((one) => !one.passed);
  if (failed.length === 0) return null;
  if (failed.every((one) => one.name === 'engine')) return 'The plan is good, but no engine of this platform runs it yet. It cannot be launched here for now.';
  return `${plural(failed.length, 'check', 'checks')} did not pass. Go back and change what stands in the way.`;
}
