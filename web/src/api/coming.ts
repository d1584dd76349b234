/**
 * What the contract does not have yet: add-ons, lanes, components, checks and the quote of a launch, presets, rendered
 * files. Whatever is optional here may be missing from an answer, and then nothing of it is shown. Once
 * `schema.d.ts` has a name, take it from there and drop it here.
 */
import { ApiError } from './error';
import { perform } from './client';
import type { AppForm, LaunchRequest, Plan, ResourceField } from './schema';

export interface Reason {
  code: string;
  message: string;
}

/** What an add-on takes. Its share is a part of the allocation's price, nothing on top of it. */
export interface Effect {
  cpu_millis: number;
  memory_mib: number;
  gpu_count: number;
  storage_mib: number;
  share: { amount_micros: number; currency: string } | null;
}

export interface FormAddon {
  name: string;
  kind: string;
  display_name: string;
  description: string | null;
  chosen: boolean;
  /** Chosen add-ons that bring it along. */
  required_by: string[];
  requires: string[];
  components: string[];
  effect: Effect;
  fits: boolean;
  reasons: Reason[];
}

export interface LaneGpu {
  index: number;
  uuid: string;
  model: string;
  memory_mib: number;
  simulated: boolean;
}

/** A group of GPUs that one component works with. */
export interface FormLane {
  name: string;
  component: string;
  runs?: boolean;
  gpu_count: ResourceField;
  tensor_parallel: ResourceField | null;
  min_gpu_memory_mib: number | null;
  gpu_indices: number[];
  gpus: LaneGpu[];
}

export interface FormComponent {
  name: string;
  class: string;
  lane?: string | null;
  addon?: string | null;
  runs: boolean;
  why_not?: string | null;
  cpu_millis: number;
  memory_mib: number;
  gpu_count: number;
  replicas: number;
}

export type DefaultSource = 'app' | 'project' | 'site';

export interface LaneWish {
  gpu_count?: number | undefined;
  tensor_parallel?: number | undefined;
}

export type Wish = LaunchRequest & { addons?: string[] | undefined; lanes?: Record<string, LaneWish> | undefined };

export type Form = Omit<AppForm, 'request'> & {
  request: Wish;
  addons?: FormAddon[];
  lanes?: FormLane[];
  components?: FormComponent[];
  default_sources?: Record<string, DefaultSource>;
  /** Whether it can be planned; it is launchable too where an engine of this platform runs it. */
  plannable?: boolean;
};

export interface Check {
  name: string;
  passed: boolean;
  message: string;
  evidence?: Record<string, unknown>;
}

export interface QuoteLine {
  component: string;
  addon?: string | null;
  gpu_count: number;
  cpu_millis: number;
  memory_mib: number;
  storage_mib?: number | null;
  share_micros_per_hour: number | null;
}

/** Without a price the lines still say what each component takes. */
export interface Quote {
  currency: string | null;
  allocation_micros_per_hour: number | null;
  lines: QuoteLine[];
  note: string | null;
}

export interface Gap {
  path: string;
  code: string;
  message: string;
  severity: 'refuse' | 'note';
}

export interface PlannedEngine {
  engine: string;
  available: boolean;
  renders: boolean;
  digest: string | null;
  gaps: Gap[];
}

export interface PlannedComponent {
  name: string;
  class: string;
  lane?: string | null;
  addon?: string | null;
  replicas: number;
  cpu_millis: number;
  memory_mib: number;
  gpus: string[];
}

export type LaunchPlan = Omit<Plan, 'rendered'> & {
  /** What a node is told; nothing where another engine would run it. */
  rendered?: Plan['rendered'] | null;
  components?: PlannedComponent[];
  checks?: Check[];
  quote?: Quote | null;
  engines?: PlannedEngine[];
};

export interface Planned {
  plan: LaunchPlan;
  plan_digest: string;
}

export type Choices = Pick<Wish, 'values' | 'addons' | 'lanes' | 'resources' | 'mounts' | 'access' | 'variant'>;

export interface Preset {
  id: string;
  name: string;
  app_slug: string;
  /** Its values are what new forms of the app begin with; the server fills them in. */
  is_default: boolean;
  choices: Choices;
  version: number;
  updated_at: string;
}

const PRESETS = '/api/v1/projects/{project_id}/launch-presets';

/** The presets of one app; nothing where the platform has none, or where they are not the caller's to see. */
export async function listPresets(project: string, app: string, signal: AbortSignal): Promise<Preset[] | null> {
  const answer = await perform('get', PRESETS, { path: { project_id: project }, query: { app }, signal }).catch(absent);
  return answer === null ? null : (answer as { items: Preset[] }).items;
}

export async function createPreset(project: string, body: { name: string; app_slug: string; choices: Choices; is_default: boolean }): Promise<Preset> {
  return (await perform('post', PRESETS, { path: { project_id: project }, body })) as Preset;
}

export async function updatePreset(project: string, preset: Preset, body: { choices?: Choices; is_default?: boolean }): Promise<void> {
  await perform('patch', `${PRESETS}/{preset_id}`, { path: { project_id: project, preset_id: preset.id }, body, version: preset.version });
}

export async function deletePreset(project: string, preset: Preset): Promise<void> {
  await perform('delete', `${PRESETS}/{preset_id}`, { path: { project_id: project, preset_id: preset.id } });
}

export interface Rendered {
  engine: string;
  renderer_version: number | string;
  /** Of the true bytes; those shown may be masked. */
  digest: string;
  /** Whether the instance runs from it; otherwise it was made now. */
  stored: boolean;
  /** Whether what was kept is what it should be. */
  verified: boolean;
  files: { name: string; media_type: string; bytes: string }[];
  /** JSON pointers to what was taken out. */
  masked: string[];
  gaps: Gap[];
}

/** What an engine is given for an instance; nothing where the caller may not see it. */
export async function getRendered(project: string, instance: string, engine: string, signal: AbortSignal): Promise<Rendered | null> {
  const path = { project_id: project, app_instance_id: instance };
  const answer = await perform('get', '/api/v1/projects/{project_id}/app-instances/{app_instance_id}/rendered', { path, query: { engine }, signal }).catch(absent);
  return answer as Rendered | null;
}

/** Not there, or not yours to see: both are nothing to show. */
function absent(error: unknown): null {
  if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return null;
  throw error;
}
