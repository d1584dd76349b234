import type { FieldProblem } from '../../api/error';

type Values = Record<string, unknown>;

const FITTING: Record<string, string[]> = {
  string: ['text', 'textarea', 'select', 'radio', 'secret_picker'],
  integer: ['text', 'select', 'radio', 'range'],
  number: ['text', 'select', 'radio', 'range'],
  boolean: ['checkbox', 'select', 'radio'],
  array: ['tags'],
};

/**
 * Hints change how a form looks and never whether it works (B-02): a widget that does not fit its field, or that needs
 * choices or bounds the field does not have, is left out. Lists are written one entry per line. A field of any type can be hidden; it
 * keeps its value.
 */
export function safeHints(schema: Values, hints: Values, sources: Record<string, string> = {}): Values {
  const properties = record(schema.properties);
  const safe: Values = {};
  const order = hints['ui:order'];
  if (Array.isArray(order)) safe['ui:order'] = [...order.filter((name) => String(name) in properties), '*'];
  const collapsed = closedGroups(hints['ui:groups']);
  if (collapsed.length > 0) safe['ui:collapsed'] = collapsed;
  for (const [name, raw] of Object.entries(properties)) {
    const property = record(raw);
    const type = String(property.type);
    const hint = { ...record(hints[name]) };
    const widget = hint['ui:widget'];
    if (widget === 'hidden') {
      safe[name] = hint;
      continue;
    }
    const fits =
      FITTING[type]?.includes(String(widget)) &&
      (!['select', 'radio'].includes(String(widget)) || Array.isArray(property.enum) || type === 'boolean') &&
      (widget !== 'range' || (typeof property.minimum === 'number' && typeof property.maximum === 'number'));
    if (widget !== undefined && !fits) delete hint['ui:widget'];
    if (type === 'array') hint['ui:widget'] = 'lines';
    // The app's own default needs no word.
    if (sources[name] === 'project' || sources[name] === 'site') hint['ui:source'] = sources[name];
    safe[name] = hint;
  }
  return safe;
}

/** The titles of groups that are closed at first. */
function closedGroups(groups: unknown): string[] {
  return Array.isArray(groups) ? groups.map(record).filter((group) => group.collapsed === true).map((group) => String(group.title)) : [];
}

/**
 * Why a closed group must be seen, one word per reason: something in it is wrong, is warned of, or was chosen already, by a
 * link or a preset as much as by hand. What is launched with must not hide.
 */
export function reasonsToOpen(names: string[], hints: Values, errors: Values, chosen: Values): string[] {
  return names.flatMap((name) => [
    ...[record(errors[name]).__errors].flat().filter(Boolean).map((problem) => `wrong ${name} ${String(problem)}`),
    ...[record(hints[name])['ui:warning']].filter(Boolean).map((warning) => `warned ${name} ${String(warning)}`),
    ...(Object.hasOwn(chosen, name) ? [`chosen ${name}`] : []),
  ]);
}

/** What the server says about `/values/…`, in RJSF's shape; a fault inside a list is shown at the list. */
export function extraErrors(problems: FieldProblem[]): Values {
  const errors: Record<string, { __errors: string[] }> = {};
  for (const problem of problems) {
    const [, root, name] = problem.path.split('/');
    if (root !== 'values' || name === undefined) continue;
    const field = name.replaceAll('~1', '/').replaceAll('~0', '~');
    errors[field] ??= { __errors: [] };
    errors[field].__errors.push(problem.message);
  }
  return errors;
}

/**
 * Whether a problem is about a value that nobody typed. It is told at once, for nobody would look for what they did not set;
 * what is still to be filled in is no such value.
 */
export function isOfDefaults(problem: FieldProblem, chosen: Values): boolean {
  const [, root, name] = problem.path.split('/');
  return root === 'values' && problem.code !== 'required' && !Object.hasOwn(chosen, name ?? '');
}

/** Which values the user has set: those that differ from what was shown. An emptied text or list without a default is no value. */
export function changedValues(schema: Values, shown: Values, now: Values, before: Values): Values {
  const properties = record(schema.properties);
  const changed: Values = { ...before };
  for (const name of new Set([...Object.keys(shown), ...Object.keys(now)])) {
    if (JSON.stringify(now[name]) === JSON.stringify(shown[name])) continue;
    const property = record(properties[name]);
    const nothing = now[name] === '' || (Array.isArray(now[name]) && now[name].length === 0);
    const isEmpty = now[name] === undefined || (nothing && property.default === undefined);
    if (isEmpty) delete changed[name];
    else changed[name] = now[name];
  }
  return changed;
}

function record(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {};
}
