/**
 * Fills in the form from a link or a preset. Whatever they hold is matched with what the form offers: what it does not
 * offer is told and left out, so that nothing can get in which the page has no field for. Values that hang on others
 * appear in the form only once those are set; so it goes step by step, one answer of the server each, until nothing is
 * left. It never launches anything.
 */
import type { AppForm, LaneWish, LaunchRequest } from '../../api/schema';
import { visible } from '../../ui/format';
import { CPU_MILLIS, GPUS, type Limits, MEMORY_MIB, typed } from './typed';

/** As it stands in an address, or with its type as a preset has it. */
export type Given = { texts: string[] } | { value: unknown };

export interface Fill {
  /** In the words of a sentence, e.g. `the link`. */
  from: string;
  version?: string | undefined;
  /** By name or id. */
  allocation?: string | undefined;
  variant?: string | undefined;
  addons?: string[] | undefined;
  resources: Map<string, Given>;
  /** `<lane>.<what>`. */
  lanes: Map<string, Given>;
  values: Map<string, Given>;
  /** Presets only: a link decides neither what an app gets to read nor who may reach it. */
  mounts?: LaunchRequest['mounts'];
  access?: LaunchRequest['access'];
}

export interface Taken {
  name: string;
  text: string;
}

export interface Step {
  wish: LaunchRequest;
  /** What waits for the next answer. */
  rest: Fill | null;
  taken: Taken[];
  /** What was not taken, and why: whole sentences. */
  told: string[];
}

export const emptyFill = (from: string): Fill => ({ from, resources: new Map(), lanes: new Map(), values: new Map() });

/** The next step, for a form that answers to exactly this wish. */
export function fillIn(fill: Fill, form: AppForm, wish: LaunchRequest): Step {
  const { version, ...later } = fill;
  if (version !== undefined && version !== form.app.version) {
    if (form.versions.some((one) => one.version === version)) {
      // Everything else hangs on the version.
      return { wish: { ...wish, app_version: version }, rest: later, taken: [{ name: 'Version', text: version }], told: [] };
    }
    const told = [`Version ${visible(version)} is none that this project can launch; ${form.app.version} is shown instead.`];
    return merge({ wish, rest: null, taken: [], told }, rest(later, form, wish));
  }
  const first = version === undefined ? wish : { ...wish, app_version: version };
  const known = version === undefined ? [] : [{ name: 'Version', text: version }];
  return merge({ wish: first, rest: null, taken: known, told: [] }, rest(later, form, first));
}

function rest(fill: Fill, form: AppForm, wish: LaunchRequest): Step {
  const step: Step = { wish: { ...wish }, rest: null, taken: [], told: [] };
  takeAllocation(fill, form, step);
  takeVariant(fill, form, step);
  takeAddons(fill, form, step);
  takeResources(fill, step);
  takeLanes(fill, form, step);
  if (fill.mounts) step.wish.mounts = keep(fill.mounts, form.mounts.map((one) => one.name), 'place for storage', step);
  if (fill.access) step.wish.access = keep(fill.access, form.access.map((one) => one.endpoint), 'endpoint', step);
  takeValues(fill, form, step);
  return step;
}

function merge(before: Step, after: Step): Step {
  return { ...after, taken: [...before.taken, ...after.taken], told: [...before.told, ...after.told] };
}

function takeAllocation(fill: Fill, form: AppForm, step: Step) {
  if (fill.allocation === undefined) return;
  const found = form.allocations.find((one) => one.name === fill.allocation || one.id === fill.allocation);
  if (!found) {
    step.told.push(`This project has no allocation ${visible(fill.allocation)}.`);
    return;
  }
  step.wish.target_allocation_id = found.id;
  step.taken.push({ name: 'Allocation', text: found.name });
}

function takeVariant(fill: Fill, form: AppForm, step: Step) {
  if (fill.variant === undefined) return;
  if (!form.variants.some((one) => one.name === fill.variant)) {
    step.told.push(`The app has no image ${visible(fill.variant)}.`);
    return;
  }
  step.wish.variant = fill.variant;
  step.taken.push({ name: 'Image', text: fill.variant });
}

function takeAddons(fill: Fill, form: AppForm, step: Step) {
  if (fill.addons === undefined) return;
  const offered = new Set(form.addons.map((one) => one.name));
  const known = [...new Set(fill.addons)].filter((name) => offered.has(name));
  for (const name of fill.addons) if (!offered.has(name)) step.told.push(`The app has no add-on ${visible(name)}.`);
  if (known.length === 0) return;
  step.wish.addons = known;
  step.taken.push({ name: 'Add-ons', text: known.join(', ') });
}

const RESOURCES: Record<string, { title: string; limits: Limits }> = {
  gpu_count: { title: 'GPUs', limits: GPUS },
  cpu_millis: { title: 'Thousandths of a vCPU', limits: CPU_MILLIS },
  memory_mib: { title: 'Memory in MiB', limits: MEMORY_MIB },
};

function takeResources(fill: Fill, step: Step) {
  for (const [name, given] of fill.resources) {
    const known = Object.hasOwn(RESOURCES, name) ? RESOURCES[name] : undefined;
    const amount = known && number(given, known.limits);
    if (known === undefined) step.told.push(`There is no resource ${visible(name)} to choose.`);
    else if (amount === undefined) step.told.push(`${known.title} cannot be ${shown(given)}.`);
    else {
      step.wish.resources = { ...step.wish.resources, [name]: amount };
      step.taken.push({ name: known.title, text: String(amount) });
    }
  }
}

const LANE_MEMBERS = ['gpu_count', 'tensor_parallel'] as const;

function takeLanes(fill: Fill, form: AppForm, step: Step) {
  for (const [path, given] of fill.lanes) {
    const at = path.lastIndexOf('.');
    const lane = form.lanes.find((one) => one.name === path.slice(0, at));
    const member = LANE_MEMBERS.find((one) => one === path.slice(at + 1));
    const amount = number(given, GPUS);
    if (!lane || !member) {
      step.told.push(`The app has no lane to set ${visible(path)} of.`);
    } else if (amount === undefined) step.told.push(`${visible(path)} cannot be ${shown(given)}.`);
    else {
      const wish: LaneWish = { ...step.wish.lanes?.[lane.name], [member]: amount };
      step.wish.lanes = { ...step.wish.lanes, [lane.name]: wish };
      step.taken.push({ name: `Lane ${lane.name}, ${member === 'gpu_count' ? 'GPUs' : 'tensor parallel'}`, text: String(amount) });
    }
  }
}

function takeValues(fill: Fill, form: AppForm, step: Step) {
  const properties = (form.schema.properties ?? {}) as Record<string, Property>;
  const values: Record<string, unknown> = { ...step.wish.values };
  const waiting = new Map<string, Given>();
  let some = false;
  for (const [name, given] of fill.values) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!property) {
      waiting.set(name, given);
      continue;
    }
    const read = readValue(property, given, fill.from);
    if ('problem' in read) step.told.push(`${property.title ?? name}: ${read.problem}`);
    else {
      values[name] = read.value;
      step.taken.push({ name: property.title ?? name, text: shown(given) });
      some = true;
    }
  }
  if (some) step.wish.values = values;
  // Parameters that are asked for only because of others, of an add-on or of an amount come with the next answer.
  if (step.taken.length > 0 && waiting.size > 0) step.rest = { ...emptyFill(fill.from), values: waiting };
  else for (const name of waiting.keys()) step.told.push(`${visible(name)} is no parameter of version ${form.app.version} with these choices.`);
}

interface Property {
  type?: string;
  title?: string;
  format?: string;
  readOnly?: boolean;
  items?: { type?: string };
}

type Read = { value: unknown } | { problem: string };

/** By its type alone; whether it is a good one, the server says at the field. */
function readValue(property: Property, given: Given, from: string): Read {
  if (property.readOnly) return { problem: 'the platform computes this.' };
  if ('value' in given) return given;
  if (property.format === 'secret_ref') return { problem: `secrets are not taken from ${from}; choose it yourself.` };
  if (given.texts.some((text) => text.includes('\0'))) return { problem: 'there is a character in it that no value can have.' };
  if (property.type === 'array') {
    // An empty list is one empty text: there is no other way to write it in an address.
    const texts = given.texts.length === 1 && given.texts[0] === '' ? [] : given.texts;
    const items = texts.map((text) => scalar(property.items?.type, text));
    const wrong = items.findIndex((one) => one === undefined);
    return wrong < 0 ? { value: items } : { problem: `${quoted(texts[wrong] ?? '')} is not ${A[property.items?.type ?? ''] ?? 'a value'}.` };
  }
  const [text, ...more] = given.texts;
  if (text === undefined || more.length > 0) return { problem: `${from} gives it more than once.` };
  const value = scalar(property.type, text);
  return value === undefined ? { problem: `${quoted(text)} is not ${A[property.type ?? ''] ?? 'a value'}.` } : { value };
}

const A: Record<string, string> = { integer: 'a whole number', number: 'a number', boolean: 'true or false' };

function scalar(type: string | undefined, text: string): string | number | boolean | undefined {
  switch (type) {
    case 'string':
      return text;
    case 'integer':
    case 'number': {
      const value = /^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$/i.test(text) ? typed(text) : undefined;
      return type === 'integer' && !Number.isSafeInteger(value) ? undefined : value;
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
    default:
      return undefined;
  }
}

function number(given: Given, limits: Limits): number | undefined {
  if ('value' in given) return typeof given.value === 'number' ? typed(String(given.value), limits) : undefined;
  const [text, ...more] = given.texts;
  return text !== undefined && more.length === 0 && /^[0-9]+$/.test(text) ? typed(text, limits) : undefined;
}

function keep<T>(given: Record<string, T>, known: string[], what: string, step: Step): Record<string, T> {
  for (const name of Object.keys(given)) if (!known.includes(name)) step.told.push(`The app has no ${what} ${visible(name)}.`);
  return Object.fromEntries(Object.entries(given).filter(([name]) => known.includes(name)));
}

function shown(given: Given): string {
  const text = 'texts' in given ? given.texts.join(', ') : typeof given.value === 'string' ? given.value : JSON.stringify(given.value);
  return visible(text);
}

const quoted = (text: string) => `“${visible(text)}”`;
