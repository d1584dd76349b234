import type { AppForm, Preset, PresetChoices } from '../../api/schema';
import { emptyFill, type Fill, type Given } from './fill';

/** What a preset keeps of a form: the choices that the server took, without name and place. */
export function choicesOf(form: AppForm): PresetChoices {
  const { values, addons, lanes, resources, mounts, access, variant } = form.request;
  return { values, addons, lanes, resources: resources ?? undefined, mounts, access, variant: variant ?? undefined };
}

export function fillOf(preset: Preset): Fill {
  const { values, addons, lanes, resources, mounts, access, variant } = preset.choices;
  const members = Object.entries(lanes ?? {}).flatMap(([lane, wish]) => Object.entries(wish).map(([name, value]) => [`${lane}.${name}`, value] as const));
  return {
    ...emptyFill(`the preset ${preset.name}`),
    variant: variant ?? undefined,
    addons,
    mounts,
    access,
    values: given(Object.entries(values ?? {})),
    resources: given(Object.entries(resources ?? {})),
    lanes: given(members.filter(([path]) => !path.endsWith('.slots'))),
  };
}

function given(entries: (readonly [string, unknown])[]): Map<string, Given> {
  return new Map(entries.filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => [name, { value }]));
}
