import type { TimelineEntry } from '../../api/schema';

/** How far the latest operation has come, read from the timeline alone. */
export interface Step {
  title: string;
  state: 'done' | 'now' | 'to-do' | 'failed';
  /** When it began, and when it ended, in milliseconds; absent while it has not. */
  began: number | null;
  ended: number | null;
  pull: { done: number; total: number | null } | null;
  note: string | null;
}

interface Plan {
  starts: string[];
  steps: { title: string; ends: string[] }[];
}

const PULL = 'Fetch the image';

const PLANS: Plan[] = [
  {
    starts: ['requested', 'start_requested'],
    steps: [
      { title: 'Hand it to the node', ends: ['deploying'] },
      { title: PULL, ends: [] },
      { title: 'Start and wait until it is ready', ends: ['start_completed'] },
    ],
  },
  { starts: ['stop_requested'], steps: [{ title: 'Stop every process of it', ends: ['stopped'] }] },
  {
    starts: ['decommission_requested'],
    steps: [
      { title: 'Stop every process of it', ends: ['stopped', 'decommissioned'] },
      { title: 'Remove everything and look that nothing is left', ends: ['decommissioned'] },
    ],
  },
];

const time = (entry: TimelineEntry) => Date.parse(entry.occurred_at);
const payload = (entry: TimelineEntry) => (entry.payload ?? {}) as Record<string, unknown>;

export function stepsOf(timeline: TimelineEntry[]): Step[] {
  let start = -1;
  let plan: Plan | undefined;
  timeline.forEach((entry, index) => {
    const found = PLANS.find((one) => one.starts.includes(entry.event_type));
    if (found) {
      start = index;
      plan = found;
    }
  });
  if (!plan || start < 0) return [];
  const story = timeline.slice(start);
  const pulls = story.filter((entry) => entry.event_type === 'pulling');
  const steps: Step[] = [];
  let began: number | null = time(story[0]!);
  let position = 0;
  for (const { title, ends } of plan.steps) {
    if (title === PULL) {
      if (pulls.length === 0) continue;
      steps.push(pullStep(title, pulls, story));
      began = steps[steps.length - 1]!.ended;
      continue;
    }
    const end = story.findIndex((entry, index) => index >= position && ends.includes(entry.event_type));
    const ended: number | null = end < 0 ? null : time(story[end]!);
    steps.push({ title, state: ended !== null ? 'done' : began === null ? 'to-do' : 'now', began, ended, pull: null, note: null });
    if (end >= 0) position = end;
    began = ended;
  }
  return settle(steps, story);
}

/** The pull runs until something else is told, or it is all there. */
function pullStep(title: string, pulls: TimelineEntry[], story: TimelineEntry[]): Step {
  const last = pulls[pulls.length - 1]!;
  const done = Number(payload(last).done_bytes ?? 0);
  const raw = payload(last).total_bytes;
  const total = typeof raw === 'number' && raw > 0 ? raw : null;
  const after = story.slice(story.indexOf(last) + 1).find((entry) => ['start_completed', 'failed', 'health_changed'].includes(entry.event_type));
  const complete = total !== null && done >= total;
  const ended = complete || after ? time(last) : null;
  const shown = after && after.event_type !== 'failed' && total !== null ? total : done;
  return { title, state: ended === null ? 'now' : 'done', began: time(pulls[0]!), ended, pull: { done: shown, total }, note: null };
}

/** A failure belongs to the step that was under way; so does what it waits for. */
function settle(steps: Step[], story: TimelineEntry[]): Step[] {
  const current = steps.find((step) => step.state === 'now');
  const failure = story.findLast((entry) => entry.event_type === 'failed');
  const waiting = story.findLast((entry) => entry.event_type === 'waiting');
  if (current && failure) {
    current.state = 'failed';
    current.ended = time(failure);
    current.note = String(payload(failure).detail ?? '') || String(payload(failure).reason ?? '') || null;
  } else if (current && waiting) {
    current.note = String(payload(waiting).detail ?? payload(waiting).reason ?? '') || null;
  }
  return steps;
}

/** One line of the timeline in words. */
export function describe(entry: TimelineEntry): string {
  const members = Object.entries(payload(entry)).filter(([, value]) => value !== null && value !== '');
  return members.map(([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`).join(' · ');
}
