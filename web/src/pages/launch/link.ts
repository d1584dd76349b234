/**
 * Links that fill in the form: `/launch/<app>?version=1.2.0&allocation=demo&resources.gpu_count=1&addons=a,b&values.<name>=<value>`.
 * A list is written by repeating its name. Anybody can write such a link and send it to somebody, so: it only fills in
 * what the form shows, it never launches, and it has no way to say who may reach the app, which volumes it gets, or a
 * secret.
 */
import type { AppForm, LaunchRequest } from '../../api/schema';
import { plural, visible } from '../../ui/format';
import { emptyFill, type Fill, type Given } from './fill';

/** Of what follows the question mark. Browsers and mail programs get along with this much. */
export const LONGEST_LINK = 4000;
const MOST_ENTRIES = 200;
const FROM = 'the link';

export interface Link {
  fill: Fill | null;
  /** What cannot be read, as sentences. */
  told: string[];
}

/** What an address asks for; nothing where it has no question mark. */
export function readLink(search: string): Link {
  const query = search.replace(/^\?/, '');
  if (query === '') return { fill: null, told: [] };
  if (query.length > LONGEST_LINK) return { fill: null, told: ['The link is too long to be read. Nothing of it was taken.'] };
  const entries = [...new URLSearchParams(query)];
  if (entries.length > MOST_ENTRIES) return { fill: null, told: [`The link has more than ${plural(MOST_ENTRIES, 'entry', 'entries')}. Nothing of it was taken.`] };
  const fill = emptyFill(FROM);
  const told: string[] = [];
  const once = (key: 'version' | 'allocation' | 'variant', text: string) => {
    if (fill[key] !== undefined) told.push(`The link gives ${key} more than once; the first counts.`);
    else fill[key] = text;
  };
  for (const [key, text] of entries) {
    const at = key.indexOf('.');
    const [root, name] = at < 0 ? [key, ''] : [key.slice(0, at), key.slice(at + 1)];
    if (root === 'values' && name !== '') add(fill.values, name, text);
    else if (root === 'resources' && name !== '') add(fill.resources, name, text);
    else if (root === 'lanes' && name !== '') add(fill.lanes, name, text);
    else if (key === 'addons') fill.addons = [...(fill.addons ?? []), ...text.split(',').filter(Boolean)];
    else if (key === 'version' || key === 'allocation' || key === 'variant') once(key, text);
    else told.push(`A link cannot set ${visible(key)}.`);
  }
  return { fill, told };
}

function add(to: Map<string, Given>, name: string, text: string) {
  const before = to.get(name);
  to.set(name, { texts: [...(before && 'texts' in before ? before.texts : []), text] });
}

/**
 * The address of this form as it is filled in; nothing where that would be too long. The values are those that the server
 * took, so that nothing it refused (a raw secret, say) gets into a link.
 */
export function linkTo(form: AppForm, wish: LaunchRequest): string | null {
  const query = new URLSearchParams({ version: form.app.version });
  const allocation = form.allocations.find((one) => one.id === wish.target_allocation_id);
  if (allocation) query.set('allocation', allocation.name);
  if (wish.variant) query.set('variant', wish.variant);
  for (const [name, amount] of Object.entries(wish.resources ?? {})) if (amount != null) query.set(`resources.${name}`, String(amount));
  if (wish.addons && wish.addons.length > 0) query.set('addons', wish.addons.join(','));
  for (const [lane, members] of Object.entries(wish.lanes ?? {})) {
    for (const member of ['gpu_count', 'tensor_parallel'] as const) {
      if (members[member] != null) query.set(`lanes.${lane}.${member}`, String(members[member]));
    }
  }
  const properties = (form.schema.properties ?? {}) as Record<string, { format?: string }>;
  for (const [name, value] of Object.entries(form.request.values ?? {})) {
    if (properties[name]?.format === 'secret_ref') continue;
    if (Array.isArray(value)) for (const item of value.length === 0 ? [''] : value) query.append(`values.${name}`, String(item));
    else query.set(`values.${name}`, String(value));
  }
  const text = query.toString();
  return text.length > LONGEST_LINK ? null : `/launch/${encodeURIComponent(form.app.slug)}?${text}`;
}
