// The contract browser: reads the platform's OpenAPI file, shows every operation and lets people try it.
// Whatever comes from the contract or from a server's answer enters the page as a text node, never as markup.

const CONTRACT = '/api/v1/openapi.json';
const WHOAMI = '/api/v1/auth/whoami';
const LOGIN = '/api/v1/auth/login';
const LOGOUT = '/api/v1/auth/logout';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const TIMEOUT_MS = 60_000;
const SHOWN_CHARACTERS = 400_000;

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text nodes, nothing is ever parsed as markup. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

const muted = (...children) => h('span', { class: 'muted' }, children);
const code = (...children) => h('code', {}, children);
const action = (className, label, click) => h('button', { type: 'button', class: className, click }, label);

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const entries = (value) => (isObject(value) ? Object.entries(value) : []);
const list = (value) => (Array.isArray(value) ? value : []);

/** `code` between backticks; everything else as it stands. */
function words(text) {
  return String(text).split(/`([^`]+)`/).map((part, index) => (index % 2 ? code(part) : part));
}

function prose(text, className) {
  if (!text) return null;
  const paragraphs = String(text).trim().split(/\n\s*\n/);
  return h('div', { class: className ?? 'prose' }, paragraphs.map((paragraph) => h('p', {}, words(paragraph))));
}

/** A path that may break after its slashes on a narrow screen. */
function pathNodes(path) {
  return path.split('/').flatMap((part, index) => (index ? ['/', h('wbr', {}), part] : [part]));
}

function announce(text) {
  const region = byId('announce');
  region.textContent = '';
  requestAnimationFrame(() => { region.textContent = text; });
}

/** A button that shows and hides a panel; the panel is filled when it is first opened. */
function disclosure(button, panel, fill) {
  let filled = false;
  const set = (open) => {
    if (open && !filled) {
      filled = true;
      fill();
    }
    button.setAttribute('aria-expanded', String(open));
    panel.hidden = !open;
  };
  set(false);
  return { set, isOpen: () => !panel.hidden };
}

/** A line of a tree that unfolds what stands under it. */
function unfolding(label, between, fill, open) {
  const button = h('button', { type: 'button', class: 'row toggle' }, label);
  const panel = h('div', {});
  const fold = disclosure(button, panel, () => panel.append(fill()));
  button.addEventListener('click', () => fold.set(!fold.isOpen()));
  fold.set(open);
  return h('li', {}, button, between, panel);
}

async function copyText(text, button) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    // No clipboard without a secure context: the old way, through a selection.
    const area = h('textarea', { class: 'unseen', readonly: true, 'aria-hidden': 'true', tabindex: '-1' });
    area.value = text;
    document.body.append(area);
    area.select();
    try { done = document.execCommand('copy'); } catch { /* said below */ }
    area.remove();
    button.focus();
  }
  button.textContent = done ? 'Copied' : 'Select and copy by hand';
  announce(button.textContent);
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
}

const copyButton = (text) => action('small', 'Copy', (event) => copyText(text(), event.currentTarget));

/** A block of code; it can be scrolled, so it can be focused. */
const codeBlock = (label, ...children) => h('pre', { tabindex: '0', role: 'region', 'aria-label': label }, h('code', {}, children));

/** A random UUID; `crypto.randomUUID` is there only in a secure context. */
function randomKey() {
  const hex = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5');
}

// JSON on the screen. The text is re-indented token by token, not parsed and printed, so that numbers beyond what
// JavaScript can hold are shown as the server sent them.

const JSON_TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|true|false|null)|([{}[\],])/g;

function jsonNodes(text) {
  const out = [];
  let depth = 0;
  let plain = '';
  const span = (className, part) => {
    if (plain) out.push(plain);
    plain = '';
    out.push(h('span', { class: className }, part));
  };
  const line = () => { plain += '\n' + '  '.repeat(depth); };
  let opened = false;
  for (const [token, string, colon, value, mark] of text.matchAll(JSON_TOKEN)) {
    const closing = token === '}' || token === ']';
    if (opened && !closing) line();
    if (string !== undefined) {
      span(colon ? 'json-key' : 'json-string', string);
      if (colon) plain += ': ';
    } else if (value !== undefined) span('json-value', value);
    else if (mark === ',') {
      plain += ',';
      line();
    } else if (closing) {
      depth -= 1;
      if (!opened) line();
      plain += mark;
    } else {
      plain += mark;
      depth += 1;
    }
    opened = mark === '{' || mark === '[';
  }
  if (plain) out.push(plain);
  return out;
}

function isJson(text) {
  try { JSON.parse(text); return true; } catch { return false; }
}

function jsonOrText(text) {
  if (text.length > SHOWN_CHARACTERS) return [text.slice(0, SHOWN_CHARACTERS), '\n… cut here for the screen'];
  return isJson(text) && text.length < 100_000 ? jsonNodes(text) : [text];
}

// Schemas

let contract = {};

function lookUp(reference) {
  let node = contract;
  for (const part of reference.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, key)) return undefined;
    node = node[key];
  }
  return node;
}

/** What a `$ref` points to, with the words that stand beside it; and the name it had. */
function resolve(node) {
  let name;
  for (let hops = 0; isObject(node) && typeof node.$ref === 'string' && hops < 20; hops += 1) {
    const { $ref, ...beside } = node;
    const target = $ref.startsWith('#/') ? lookUp($ref) : undefined;
    name = $ref.split('/').pop();
    if (target === undefined) return { node: { description: `Not in the contract: ${$ref}` }, name };
    node = isObject(target) ? { ...target, ...beside } : target;
  }
  return { node, name };
}

const theNode = (node) => resolve(node).node ?? {};

/** The values of an enumeration, however it is written; `null` if it is none. */
function choicesOf(node) {
  if (Array.isArray(node.enum)) return node.enum.map((value) => ({ value }));
  if (Object.hasOwn(node, 'const')) return [{ value: node.const }];
  const options = list(node.oneOf ?? node.anyOf);
  if (!options.length) return null;
  const all = [];
  for (const option of options) {
    const inner = theNode(option);
    const values = Array.isArray(inner.enum) ? inner.enum : Object.hasOwn(inner, 'const') ? [inner.const] : null;
    if (!values) return null;
    all.push(...values.map((value) => ({ value, about: inner.description })));
  }
  return all;
}

/** One schema, made plain: references followed, `allOf` merged, "or null" taken apart. */
function shapeOf(schema, depth = 0) {
  const { node: found, name } = resolve(schema);
  // `true`, or nothing at all, accepts anything.
  const node = isObject(found) && depth < 20 ? found : {};
  const types = [node.type ?? []].flat();
  const shape = {
    name, node,
    types: types.filter((type) => type !== 'null'),
    nullable: types.includes('null'),
    properties: isObject(node.properties) ? node.properties : {},
    required: list(node.required),
    items: node.items,
    map: isObject(node.additionalProperties) || (node.additionalProperties === true && types.includes('object')) ? node.additionalProperties : undefined,
    closed: node.additionalProperties === false || node.unevaluatedProperties === false,
    choices: choicesOf(node),
    variants: [],
    about: node.description,
  };
  if (shape.choices?.some((choice) => choice.value === null)) {
    shape.nullable = true;
    shape.choices = shape.choices.filter((choice) => choice.value !== null);
  }
  const absorb = (inner) => {
    shape.name ??= inner.name;
    shape.node = { ...inner.node, ...shape.node };
    shape.types = shape.types.length ? shape.types : inner.types;
    shape.properties = { ...inner.properties, ...shape.properties };
    shape.required = [...new Set([...inner.required, ...shape.required])];
    shape.items ??= inner.items;
    shape.map ??= inner.map;
    shape.choices ??= inner.choices;
    shape.closed ||= inner.closed;
    shape.variants = shape.variants.length ? shape.variants : inner.variants;
    shape.nullable ||= inner.nullable;
    shape.about ??= inner.about;
  };
  for (const part of list(node.allOf)) absorb(shapeOf(part, depth + 1));
  if (list(node.allOf).length > 1) shape.name = name;
  if (!shape.choices) {
    const options = list(node.oneOf ?? node.anyOf);
    const real = options.filter((option) => theNode(option).type !== 'null');
    if (real.length < options.length) shape.nullable = true;
    if (real.length === 1) absorb(shapeOf(real[0], depth + 1));
    else if (real.length > 1) shape.variants = real;
  }
  if (!shape.types.length) {
    if (Object.keys(shape.properties).length || shape.map !== undefined) shape.types = ['object'];
    else if (shape.items) shape.types = ['array'];
    else if (shape.choices?.length) shape.types = [...new Set(shape.choices.map(({ value }) => typeof value))];
  }
  return shape;
}

function typeText(shape, depth = 0) {
  const { node } = shape;
  let text;
  if (shape.types.includes('array')) text = `array of ${depth > 3 ? '…' : typeText(shapeOf(shape.items), depth + 1)}`;
  else if (shape.variants.length) text = `one of ${shape.variants.length} shapes`;
  else if (shape.types.includes('object')) {
    const values = shape.map === undefined || Object.keys(shape.properties).length ? '' : ` of ${depth > 3 ? '…' : typeText(shapeOf(shape.map), depth + 1)}`;
    text = values ? `map${values}` : shape.name ?? 'object';
  } else if (shape.types.length) {
    text = shape.types.join(' or ');
    if (node.format) text += ` (${node.format})`;
    if (shape.name) text += ` · ${shape.name}`;
  } else text = 'any JSON';
  return shape.nullable ? `${text}, or null` : text;
}

const range = (low, high, unit) => {
  if (low !== undefined && high !== undefined) return low === high ? `exactly ${low}${unit}` : `${low} to ${high}${unit}`;
  if (low !== undefined) return `at least ${low}${unit}`;
  return high !== undefined ? `at most ${high}${unit}` : null;
};

function limitsOf(shape) {
  const { node } = shape;
  const limits = [
    range(node.minLength, node.maxLength, ' characters'),
    range(node.minimum, node.maximum, ''),
    node.exclusiveMinimum !== undefined ? `more than ${node.exclusiveMinimum}` : null,
    node.exclusiveMaximum !== undefined ? `less than ${node.exclusiveMaximum}` : null,
    node.multipleOf !== undefined ? `a multiple of ${node.multipleOf}` : null,
    range(node.minItems, node.maxItems, ' items'),
    range(node.minProperties, node.maxProperties, ' fields'),
    node.uniqueItems ? 'no item twice' : null,
    node.default !== undefined && node.default !== null ? `${JSON.stringify(node.default)} unless given` : null,
    node.readOnly ? 'only in answers' : null,
    node.writeOnly ? 'never in answers' : null,
    node.deprecated ? 'deprecated' : null,
  ].filter(Boolean).map((text) => h('span', {}, text));
  if (node.pattern) limits.push(h('span', {}, 'matches ', code(node.pattern)));
  return limits;
}

/** What stands under a shape in the tree: its fields, its values, its items' fields, its alternatives. */
function childrenOf(shape, depth = 0) {
  const fields = entries(shape.properties).map(([name, schema]) => ({ name, schema, required: shape.required.includes(name) }));
  fields.push(...shape.variants.map((schema, index) => ({ name: `shape ${index + 1}`, schema, loose: true })));
  if (fields.length) return fields;
  if (shape.types.includes('array') && depth < 4) return childrenOf(shapeOf(shape.items), depth + 1);
  return isObject(shape.map) ? [{ name: 'each value', schema: shape.map, loose: true }] : [];
}

const rowLabel = (name, type, required, loose) => [
  h('span', { class: loose ? 'loose' : 'field' }, name), ' ', muted(type), required ? [' ', h('span', { class: 'required' }, 'required')] : ''];

function detailsOf(shape) {
  const parts = [];
  const item = shape.types.includes('array') ? shapeOf(shape.items) : null;
  const limits = [...limitsOf(shape), ...(item ? limitsOf(item).map((limit) => h('span', {}, 'each: ', limit)) : [])];
  if (limits.length) parts.push(h('p', { class: 'limits' }, limits));
  if (shape.about) parts.push(prose(shape.about, 'about'));
  const choices = shape.choices ?? item?.choices;
  if (choices?.length) {
    const described = choices.some((choice) => choice.about);
    const value = (choice) => code(JSON.stringify(choice.value));
    parts.push(described
      ? h('ul', { class: 'choices' }, choices.map((choice) => h('li', {}, value(choice), choice.about ? [' ', words(choice.about)] : '')))
      : h('p', { class: 'limits' }, h('span', {}, choices.length > 1 ? 'one of ' : 'always ', choices.flatMap((choice, index) => [index ? ', ' : '', value(choice)]))));
  }
  return parts;
}

function treeItem({ name, schema, required, loose }, opened) {
  const shape = shapeOf(schema);
  const children = childrenOf(shape);
  const label = rowLabel(name, typeText(shape), required, loose);
  if (!children.length) return h('li', {}, h('div', { class: 'row' }, label), detailsOf(shape));
  return unfolding(label, detailsOf(shape), () => tree(children), opened);
}

function tree(children, opened = false) {
  return h('ul', { class: 'tree' }, children.map((child) => treeItem(child, opened)));
}

function schemaBlock(schema) {
  const shape = shapeOf(schema);
  const children = childrenOf(shape);
  return h('div', { class: 'schema' },
    h('p', { class: 'muted' }, typeText(shape), shape.closed ? ', no other fields' : ''),
    detailsOf(shape),
    children.length ? tree(children, children.length <= 3) : null);
}

// Examples

const WORDS = ['example', 'Example', 'example-1', 'example.org', 'EXAMPLE', 'name@example.org', '1', '1.0.0', 'a', '00', 'abcdef0123456789'];
const HINTS = {
  email: 'ada@example.org', display_name: 'Example', reason: 'Trying the contract', slug: 'example',
  permissions: ['projects.read'], roles: ['project-user'], role: 'project-user', name: 'Example',
};
const FORMATS = {
  uuid: '01900000-0000-7000-8000-000000000000', 'date-time': '2030-01-01T00:00:00Z', date: '2030-01-01',
  email: 'ada@example.org', uri: 'https://example.org/', hostname: 'example.org', ipv4: '192.0.2.1', password: 'a long pass phrase',
};

function fits(text, node) {
  if (text.length < (node.minLength ?? 0) || text.length > (node.maxLength ?? Infinity)) return false;
  if (!node.pattern) return true;
  try { return new RegExp(node.pattern, 'u').test(text); } catch { return true; }
}

function exampleText(node, name) {
  const found = [FORMATS[node.format], HINTS[name], ...WORDS].find((word) => typeof word === 'string' && fits(word, node));
  return found ?? 'example'.repeat(200).slice(0, Math.max(node.minLength ?? 7, Math.min(7, node.maxLength ?? 7)));
}

/** A value a schema accepts, as far as the contract says; `full` names optional fields too. */
function exampleOf(schema, full, name = '', above = []) {
  const shape = shapeOf(schema);
  const { node } = shape;
  if (node.example !== undefined) return node.example;
  if (list(node.examples).length) return node.examples[0];
  if (shape.choices?.length) return node.default ?? shape.choices[0].value;
  if (node.default !== undefined && node.default !== null) return node.default;
  if (above.includes(shape.name ?? schema) || above.length > 12) return null;
  above = [...above, shape.name ?? schema];
  if (shape.variants.length) return exampleOf(shape.variants[0], full, name, above);
  const [type] = shape.types;
  if (type === 'object') {
    const out = {};
    const writable = entries(shape.properties).filter(([, property]) => !theNode(property).readOnly);
    const needed = writable.filter(([key]) => shape.required.includes(key));
    for (const [key, property] of full || !needed.length ? writable : needed) out[key] = exampleOf(property, full, key, above);
    if (!writable.length && isObject(shape.map)) out.key = exampleOf(shape.map, full, '', above);
    return out;
  }
  if (type === 'array') {
    if (Array.isArray(HINTS[name]) && shapeOf(shape.items).types[0] === 'string') return HINTS[name];
    return [exampleOf(shape.items, full, '', above)];
  }
  if (type === 'string') return exampleText(node, name);
  if (type === 'integer' || type === 'number') return node.minimum ?? (node.exclusiveMinimum !== undefined ? node.exclusiveMinimum + 1 : Math.min(1, node.maximum ?? 1));
  if (type === 'boolean') return false;
  return shape.nullable ? null : {};
}

// Who is signed in

let me = { state: 'unknown' };
const watchers = new Set();

const AWAY = 'The server could not be reached.';

function ask(url, options = {}) {
  const headers = new Headers(options.headers);
  if (!headers.has('accept')) headers.set('accept', 'application/json, */*;q=0.5');
  return fetch(url, { credentials: 'same-origin', cache: 'no-store', ...options, headers });
}

/** The sentence a server's error carries, or its status. */
async function problemOf(response) {
  const fallback = `The server answered ${response.status}${response.statusText ? ` ${response.statusText}` : ''}.`;
  try {
    const { error } = await response.json();
    const id = error.correlation_id ? ` (correlation id ${error.correlation_id})` : '';
    return `${error.message ?? fallback}${id}`;
  } catch {
    return fallback;
  }
}

async function askWho() {
  try {
    const response = await ask(WHOAMI);
    if (response.ok) me = { state: 'in', who: await response.json() };
    else if (response.status === 401) me = { state: 'out' };
    else me = { state: 'failed', problem: await problemOf(response) };
  } catch {
    me = { state: 'failed', problem: AWAY };
  }
  showWho();
  for (const watcher of watchers) watcher();
}

function showWho() {
  const box = byId('identity');
  const held = box.contains(document.activeElement);
  if (me.state === 'in') {
    const { who } = me;
    const button = action('plain', 'Sign out', signOut);
    const kind = who.kind === 'service_account' ? 'service account' : who.name;
    box.replaceChildren(
      h('p', { class: 'who' }, muted('Signed in as '), h('strong', {}, String(who.display_name || who.name || who.id)),
        kind && kind !== who.display_name ? muted(` ${kind}`) : ''),
      button);
    if (held) button.focus();
  } else if (me.state === 'failed') {
    box.replaceChildren(h('p', { class: 'problem' }, `Who is signed in is not known. ${me.problem}`), action('plain', 'Ask again', askWho));
  } else {
    const email = h('input', { id: 'sign-in-email', type: 'email', name: 'email', autocomplete: 'username', required: true });
    const password = h('input', { id: 'sign-in-password', type: 'password', name: 'password', autocomplete: 'current-password', required: true });
    const button = h('button', { type: 'submit' }, 'Sign in');
    const problem = h('p', { class: 'problem', role: 'alert' });
    const form = h('form', { class: 'sign-in', 'aria-label': 'Sign in', submit: (event) => { event.preventDefault(); signIn(email, password, button, problem); } },
      h('div', {}, h('label', { for: email.id }, 'E-mail'), email),
      h('div', {}, h('label', { for: password.id }, 'Password'), password),
      button, problem);
    box.replaceChildren(form);
    if (held) email.focus();
  }
}

async function signIn(email, password, button, problem) {
  problem.textContent = '';
  button.disabled = true;
  try {
    const response = await ask(LOGIN, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: email.value, password: password.value }),
    });
    if (response.ok) {
      await askWho();
      if (me.state === 'in') {
        byId('identity').querySelector('button')?.focus();
        announce('Signed in.');
      }
      return;
    }
    problem.textContent = await problemOf(response);
    password.value = '';
    password.focus();
  } catch {
    problem.textContent = AWAY;
  } finally {
    button.disabled = false;
  }
}

async function signOut() {
  try {
    const response = await ask(LOGOUT, { method: 'POST' });
    announce(response.ok || response.status === 401 ? 'Signed out.' : await problemOf(response));
  } catch {
    announce('The server could not be reached; you are still signed in.');
  }
  await askWho();
}

/** Whether the caller's grants hold an operation's permission, in a sentence. */
function standing(operation) {
  if (isPublic(operation)) return 'Anyone may call this.';
  if (me.state === 'out') return 'You are not signed in: the server will refuse this.';
  if (me.state !== 'in') return '';
  if (!operation.permission || !operation.permission.includes('.')) return 'You are signed in.';
  const places = list(me.who.grants)
    .filter((grant) => list(grant?.permissions).includes(operation.permission))
    .map(({ scope }) => (scope?.kind === 'platform' || !scope ? 'on the platform' : `in ${scope.kind} ${scope.project_id ?? scope.tenant_id ?? ''}`.trim()));
  return places.length ? `You hold it ${[...new Set(places)].join(', ')}.` : 'You do not hold it.';
}

// Operations

let operations = [];
/** The last value given to a path parameter, so that an id is typed once and not at every operation. */
const lastGiven = new Map();

const isPublic = (operation) =>
  /^public$/i.test(operation.permission) || (!operation.permission && Array.isArray(operation.raw.security) && !operation.raw.security.some((need) => Object.keys(need ?? {}).length));

function basePath() {
  const url = contract.servers?.[0]?.url;
  if (typeof url !== 'string') return '';
  try {
    const base = new URL(url, location.origin);
    return base.origin === location.origin ? base.pathname.replace(/\/+$/, '') : '';
  } catch {
    return '';
  }
}

const text = (value) => (value === undefined || value === null ? '' : String(value));

function readOperations() {
  const out = [];
  const seen = new Set();
  for (const [path, item] of entries(contract.paths)) {
    const shared = theNode(item);
    for (const method of METHODS) {
      const raw = shared[method];
      if (!isObject(raw)) continue;
      let id = text(raw.operationId) || `${method}${path}`.replace(/[^A-Za-z0-9]+/g, '-').replace(/-+$/, '');
      while (seen.has(id) || byId(id)) id += '-2';
      seen.add(id);
      const parameters = new Map();
      for (const parameter of [...list(shared.parameters), ...list(raw.parameters)].map(theNode)) parameters.set(`${parameter.in} ${parameter.name}`, parameter);
      // A path's own parameters are offered even if the contract forgot to list them.
      for (const [, name] of path.matchAll(/\{([^}]+)\}/g)) {
        if (!parameters.has(`path ${name}`)) parameters.set(`path ${name}`, { name, in: 'path', required: true, schema: { type: 'string' } });
      }
      const operation = {
        id, method: method.toUpperCase(), path, raw,
        tag: text(list(raw.tags)[0]) || 'Other',
        summary: text(raw.summary), permission: text(raw['x-permission']), scope: text(raw['x-scope']), audit: text(raw['x-audit-action']),
        streaming: Boolean(raw['x-streaming']),
        parameters: [...parameters.values()],
      };
      operation.body = bodyOf(raw);
      operation.words = [operation.method, path, operation.summary, id, operation.tag, operation.permission, operation.audit, text(raw.description)].join(' ').toLowerCase();
      out.push(operation);
    }
  }
  return out;
}

function bodyOf(raw) {
  const body = theNode(raw.requestBody);
  const types = entries(body.content);
  if (!types.length) return null;
  const [type, media] = types.find(([name]) => /json/i.test(name)) ?? types[0];
  return { type, json: /json/i.test(type), required: body.required === true, about: body.description, schema: media?.schema, media: media ?? {} };
}

function bodyExample(body, full) {
  const given = body.media.example ?? theNode(entries(body.media.examples)[0]?.[1]).value;
  const value = given ?? exampleOf(body.schema, full);
  if (body.json) return JSON.stringify(value, null, 2);
  if (/urlencoded/i.test(body.type) && isObject(value)) return new URLSearchParams(entries(value).map(([key, one]) => [key, text(one)])).toString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const heading = (title, ...beside) => h('div', { class: 'heading' }, h('h4', {}, title), beside);

const factRow = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));

const FACTS = ['x-permission', 'x-scope', 'x-audit-action', 'x-streaming'];

function facts(operation) {
  const rows = [];
  const fact = (name, ...value) => rows.push(factRow(name, value));
  const held = h('span', { class: 'held' });
  const update = () => { held.textContent = standing(operation); };
  watchers.add(update);
  update();
  fact('Permission', operation.permission ? code(operation.permission) : isPublic(operation) ? 'none' : 'any signed-in caller', held);
  if (operation.scope) fact('Scope', operation.scope);
  fact('Audited as', operation.audit ? code(operation.audit) : 'not audited');
  if (operation.streaming) fact('Answer', 'never ends: it is a stream');
  for (const [key, value] of entries(operation.raw)) {
    if (!key.startsWith('x-') || FACTS.includes(key) || value === null || typeof value === 'object') continue;
    const name = key.slice(2).replaceAll('-', ' ');
    fact(name[0].toUpperCase() + name.slice(1), text(value));
  }
  fact('Operation', h('a', { href: `#${operation.id}` }, operation.id));
  return h('dl', { class: 'facts' }, rows);
}

function parameterList(operation) {
  if (!operation.parameters.length) return null;
  return [heading('Parameters'), h('ul', { class: 'tree' }, operation.parameters.map((parameter) => {
    const shape = shapeOf(parameter.schema);
    return h('li', {}, h('div', { class: 'row' }, rowLabel(text(parameter.name), `${typeText(shape)}, in ${parameter.in}`, parameter.required)),
      detailsOf({ ...shape, about: parameter.description ?? shape.about }));
  }))];
}

function requestPart(operation) {
  const { body } = operation;
  if (!body) return null;
  const example = bodyExample(body, true);
  return [
    heading('Request body', muted(`${body.type}${body.required ? '' : ', may be left out'}`)),
    prose(body.about), body.schema ? schemaBlock(body.schema) : null,
    heading('Example body', copyButton(() => example)),
    codeBlock(`Example body of ${operation.id}`, body.json ? jsonNodes(example) : example),
  ];
}

function responsePart(operation) {
  const responses = entries(operation.raw.responses);
  if (!responses.length) return null;
  const first = responses.findIndex(([status]) => status.startsWith('2'));
  return [heading('Responses'), h('ul', { class: 'responses' }, responses.map(([status, raw], index) => {
    const response = theNode(raw);
    const contents = entries(response.content);
    const headers = entries(response.headers);
    const label = [h('span', { class: `status s${status[0]}` }, status), ' ', words(response.description ?? '')];
    if (!contents.length && !headers.length) return h('li', {}, h('div', { class: 'row' }, label));
    return unfolding(label, null, () => h('div', { class: 'response' },
      headers.map(([name, one]) => h('p', {}, 'Header ', code(name), theNode(one).description ? [': ', words(theNode(one).description)] : '')),
      contents.map(([type, media]) => [h('p', { class: 'muted' }, type), media?.schema ? schemaBlock(media.schema) : ''])), index === first);
  }))];
}

// Try it

const isIdempotencyKey = (name) => /^idempotency-key$/i.test(name);

function parameterInput(operation, parameter, index) {
  const id = `${operation.id}-in-${index}`;
  const shape = shapeOf(parameter.schema);
  const choices = shape.choices?.length ? shape.choices.map(({ value }) => text(value)) : shape.types[0] === 'boolean' ? ['true', 'false'] : null;
  let input;
  if (choices) {
    input = h('select', { id }, parameter.required ? null : h('option', { value: '' }, 'not sent'), choices.map((choice) => h('option', { value: choice }, choice)));
  } else {
    const number = ['integer', 'number'].includes(shape.types[0]);
    input = h('input', { id, type: 'text', inputmode: number ? 'numeric' : null, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none' });
    if (parameter.in === 'path') input.value = lastGiven.get(parameter.name) ?? '';
    if (isIdempotencyKey(parameter.name)) input.placeholder = 'a fresh one for every send';
  }
  const required = parameter.required && !isIdempotencyKey(parameter.name);
  if (required) input.required = true;
  if (parameter.in === 'path') {
    input.addEventListener('input', () => {
      // A browser would fold dots into another path, and so into another operation.
      const dots = /^\.\.?$/.test(input.value);
      input.setCustomValidity(dots ? 'This cannot be part of a path.' : '');
      if (!dots) lastGiven.set(parameter.name, input.value);
    });
  }
  const note = [parameter.in === 'path' ? '' : parameter.in, required ? 'required' : ''].join(' ').trim();
  return {
    parameter, input, array: shape.types[0] === 'array',
    element: h('div', { class: 'control' }, h('label', { for: id }, code(text(parameter.name)), note ? muted(` ${note}`) : ''), input),
  };
}

/** The request as the form has it: address, headers, body. With `draft`, what is not filled in gets a stand-in. */
function requestFrom(operation, form, draft) {
  let path = operation.path;
  const query = new URLSearchParams();
  const headers = [];
  for (const { parameter, input, array } of form.controls) {
    const value = input.value;
    if (parameter.in === 'path') {
      path = path.replace(`{${parameter.name}}`, () => (value || !draft ? encodeURIComponent(value) : parameter.name.toUpperCase()));
    } else if (value !== '' && parameter.in === 'query') {
      for (const one of array ? value.split(',').map((part) => part.trim()) : [value]) query.append(parameter.name, one);
    } else if (value !== '' && parameter.in === 'header') headers.push([parameter.name, value]);
  }
  const search = query.toString();
  const body = form.body?.value.trim() ? form.body.value : undefined;
  if (body !== undefined) headers.unshift(['Content-Type', operation.body.type]);
  if (operation.method !== 'GET' && !headers.some(([name]) => isIdempotencyKey(name))) headers.push(['Idempotency-Key', draft ? null : randomKey()]);
  return { url: `${basePath()}${path}${search ? `?${search}` : ''}`, headers, body };
}

const quote = (value) => `'${value.replaceAll("'", "'\\''")}'`;

const isSocket = (operation) =>
  /socket/i.test(text(operation.raw['x-streaming'])) || /\/(socket|ws|websocket)$/.test(operation.path) || isObject(operation.raw.responses?.['101']);

function curlOf(operation, form) {
  const { url, headers, body } = requestFrom(operation, form, true);
  const socket = operation.streaming && isSocket(operation);
  const lines = [`curl --include${operation.streaming ? ' --no-buffer' : ''}${socket ? ' --http1.1' : ''}${operation.method === 'GET' ? '' : ` --request ${operation.method}`}`];
  if (!isPublic(operation)) lines.push('--header "Authorization: Bearer $TOKEN"');
  if (socket) headers.push(['Connection', 'Upgrade'], ['Upgrade', 'websocket'], ['Sec-WebSocket-Version', '13'], ['Sec-WebSocket-Key', 'dHJ5LXRoZS1jb250cmFjdA==']);
  else if (operation.streaming) headers.push(['Accept', 'text/event-stream']);
  for (const [name, value] of headers) lines.push(value === null ? `--header "${name}: $(uuidgen)"` : `--header ${quote(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`--data-raw ${quote(body)}`);
  lines.push(quote(location.origin + url));
  return lines.join(' \\\n  ');
}

function confirmDelete(operation, url) {
  const dialog = byId('confirm');
  byId('confirm-text').textContent = operation.summary || 'This deletes something.';
  byId('confirm-request').textContent = `${operation.method} ${url}`;
  return new Promise((answer) => {
    const leave = (value) => () => dialog.close(value);
    byId('confirm-yes').onclick = leave('yes');
    byId('confirm-no').onclick = leave('no');
    dialog.returnValue = '';
    dialog.addEventListener('close', () => answer(dialog.returnValue === 'yes'), { once: true });
    dialog.showModal();
  });
}

const OF_INTEREST = ['etag', 'location', 'retry-after', 'idempotency-replayed', 'content-type', 'deprecation', 'sunset', 'traceparent'];
const isCorrelation = (name) => /correlation-id$/.test(name);

async function readBody(response, cancel) {
  const type = response.headers.get('content-type') ?? '';
  if (/event-stream/.test(type)) {
    cancel.abort();
    return { note: 'The answer is a stream; follow it with curl.' };
  }
  if (type && !/^text\/|json|xml|yaml|javascript|urlencoded/i.test(type)) {
    const blob = await response.blob();
    return { note: `${blob.size} bytes of ${type}, not shown.` };
  }
  const body = await response.text();
  return { body, size: new Blob([body]).size };
}

function resultOf(operation, response, { body, size, note }, sent) {
  const all = [...response.headers];
  let correlation = all.find(([name]) => isCorrelation(name))?.[1];
  if (!correlation && body && isJson(body)) correlation = JSON.parse(body)?.error?.correlation_id;
  const rows = [];
  const row = (name, value, copy) => rows.push(factRow(name, code(value), copy ? [' ', copyButton(() => value)] : ''));
  if (correlation) row('Correlation id', correlation, true);
  for (const name of OF_INTEREST) {
    const value = response.headers.get(name);
    if (value !== null) row(name === 'etag' ? 'ETag' : name, value, name === 'etag');
  }
  const key = sent.headers.find(([name]) => isIdempotencyKey(name));
  if (key) row('Idempotency-Key sent', key[1], true);
  if (response.redirected) row('Redirected to', response.url);
  const rest = all.filter(([name]) => !OF_INTEREST.includes(name) && !isCorrelation(name));
  return h('div', { class: 'result' },
    h('p', { class: 'request' }, code(`${operation.method} ${sent.url}`)),
    h('dl', { class: 'facts' }, rows),
    rest.length ? h('details', {}, h('summary', {}, `${rest.length} more headers`), h('dl', { class: 'facts' }, rest.map(([name, value]) => factRow(name, code(value))))) : null,
    note ? h('p', { class: 'muted' }, note) : null,
    body ? [h('div', { class: 'heading' }, muted(`Body, ${size} bytes`), copyButton(() => body)), codeBlock(`Answer to ${operation.id}`, jsonOrText(body))] : note ? null : h('p', { class: 'muted' }, 'The answer has no body.'));
}

async function send(operation, form) {
  const { button, cancelButton, status, result } = form;
  const sent = requestFrom(operation, form, false);
  if (new URL(sent.url, location.origin).origin !== location.origin) return;
  if (operation.method === 'DELETE' && !(await confirmDelete(operation, sent.url))) {
    status.textContent = 'Not sent.';
    return;
  }
  const cancel = new AbortController();
  const timer = setTimeout(() => cancel.abort('timeout'), TIMEOUT_MS);
  cancelButton.onclick = () => cancel.abort('cancelled');
  cancelButton.hidden = false;
  button.disabled = true;
  result.replaceChildren();
  status.className = 'outcome';
  status.textContent = 'Sending…';
  const start = performance.now();
  try {
    const response = await ask(sent.url, { method: operation.method, headers: sent.headers, body: sent.body, signal: cancel.signal });
    const answer = await readBody(response, cancel);
    const milliseconds = Math.round(performance.now() - start);
    status.replaceChildren(h('span', { class: `status s${String(response.status)[0]}` }, `${response.status} ${response.statusText}`.trim()), ` in ${milliseconds} ms`);
    result.replaceChildren(resultOf(operation, response, answer, sent));
    const sessionMayDiffer = response.status === 401 ? me.state === 'in' : /\/auth\/(login|logout|link|password)$/.test(operation.path);
    if (sessionMayDiffer) askWho();
  } catch (problem) {
    status.classList.add('problem');
    if (cancel.signal.reason === 'timeout') status.textContent = `No answer within ${TIMEOUT_MS / 1000} s; gave up. A mutation may still have happened.`;
    else if (cancel.signal.reason === 'cancelled') status.textContent = 'Cancelled. A mutation may still have happened.';
    else status.textContent = problem instanceof TypeError && /header/i.test(problem.message) ? `Not sent: ${problem.message}` : AWAY;
  } finally {
    clearTimeout(timer);
    // The focus goes back to where it was, not to the top of the page.
    const held = document.activeElement === cancelButton || document.activeElement === document.body;
    button.disabled = false;
    if (held) button.focus({ preventScroll: true });
    cancelButton.hidden = true;
  }
}

function tryPart(operation) {
  const form = { controls: operation.parameters.filter((parameter) => parameter.in !== 'cookie').map((parameter, index) => parameterInput(operation, parameter, index)) };
  const parts = [];
  if (form.controls.length) parts.push(h('div', { class: 'controls' }, form.controls.map((control) => control.element)));
  const curl = h('span', {});
  const showCurl = () => { curl.textContent = curlOf(operation, form); };

  if (operation.body && !operation.streaming) {
    const { body } = operation;
    const id = `${operation.id}-body`;
    const problem = h('p', { id: `${id}-problem`, class: 'problem', role: 'alert' });
    form.body = h('textarea', { id, spellcheck: 'false', autocapitalize: 'none', autocomplete: 'off', 'aria-describedby': problem.id, required: body.required });
    const fill = (full) => () => {
      form.body.value = bodyExample(body, full);
      form.body.rows = Math.min(20, Math.max(4, form.body.value.split('\n').length + 1));
      form.body.dispatchEvent(new Event('input', { bubbles: true }));
    };
    form.problem = problem;
    form.body.addEventListener('input', () => { problem.textContent = ''; form.body.removeAttribute('aria-invalid'); });
    const fillers = bodyExample(body, true) !== bodyExample(body, false)
      ? [action('small', 'Required fields', fill(false)), action('small', 'All fields', fill(true))] : [];
    parts.push(h('div', { class: 'control' }, h('div', { class: 'heading' }, h('label', { for: id }, 'Body ', muted(body.type)), fillers), form.body, problem));
    fill(false)();
  }

  let tail;
  if (operation.streaming) {
    tail = h('p', {}, 'This answer never ends, so it is followed from a terminal: ',
      isSocket(operation) ? 'the command below opens the WebSocket; a client for WebSockets shows the messages more readably.' : 'the command below prints events as they come. After a break, go on with the header Last-Event-ID.');
  } else {
    form.button = h('button', { type: 'submit', class: operation.method === 'DELETE' ? 'danger' : undefined }, `Send ${operation.method}`);
    form.cancelButton = h('button', { type: 'button', class: 'plain', hidden: true }, 'Cancel');
    form.status = h('p', { class: 'outcome', role: 'status', 'aria-live': 'polite' });
    form.result = h('div', {});
    tail = [h('div', { class: 'buttons' }, form.button, form.cancelButton), form.status];
  }
  const element = h('form', { class: 'try', 'aria-label': `Try ${operation.id}`, input: showCurl, submit: (event) => {
    event.preventDefault();
    if (!form.button || form.button.disabled) return;
    if (form.body && operation.body.json && form.body.value.trim() && !isJson(form.body.value)) {
      form.problem.textContent = 'This is not JSON yet.';
      form.body.setAttribute('aria-invalid', 'true');
      form.body.focus();
      return;
    }
    send(operation, form);
  } }, parts, tail);
  showCurl();
  return [
    heading(operation.streaming ? 'Follow it' : 'Try it'), element,
    form.result ?? null,
    heading('Equivalent curl', copyButton(() => curl.textContent)),
    isPublic(operation) ? null : h('p', { class: 'hint' }, 'Put an access token into ', code('TOKEN'), ' first; a personal one comes from “Personal tokens”.'),
    codeBlock(`curl command of ${operation.id}`, curl),
  ];
}

// The list

function operationElement(operation) {
  const button = h('button', { type: 'button', class: 'op-head', 'aria-controls': `${operation.id}-panel` },
    h('span', { class: `method ${operation.method.toLowerCase()}` }, operation.method),
    h('span', { class: 'op-path' }, pathNodes(operation.path)),
    h('span', { class: 'op-summary' }, operation.summary),
    operation.raw.deprecated ? h('span', { class: 'tagged' }, 'deprecated') : null,
    operation.streaming ? h('span', { class: 'tagged' }, 'stream') : null);
  const panel = h('div', { class: 'op-body', id: `${operation.id}-panel` });
  operation.fold = disclosure(button, panel, () => panel.append(
    h('div', { class: 'read' }, [prose(operation.raw.description), facts(operation), parameterList(operation), requestPart(operation), responsePart(operation)]),
    h('div', { class: 'use' }, tryPart(operation))));
  button.addEventListener('click', () => {
    operation.fold.set(!operation.fold.isOpen());
    if (operation.fold.isOpen()) history.replaceState(null, '', `#${operation.id}`);
  });
  operation.button = button;
  operation.element = h('article', { class: 'op', id: operation.id }, h('h3', {}, button), panel);
  return operation.element;
}

let groups = [];
const groupId = (tag) => `group-${tag.replace(/[^A-Za-z0-9]+/g, '-')}`;

function showContract() {
  const { info = {} } = contract;
  const title = text(info.title) || 'API contract';
  document.title = `${title} – contract`;
  byId('title').textContent = title;
  byId('edition').replaceChildren([info.version ? `Version ${info.version} · ` : '', `OpenAPI ${text(contract.openapi)} · `].join(''), h('a', { href: CONTRACT }, 'openapi.json'),
    ...(contract.paths?.['/api/v1/asyncapi.json'] ? [' · ', h('a', { href: '/api/v1/asyncapi.json' }, 'asyncapi.json')] : []));
  byId('intro').replaceChildren(...[prose(info.description)].filter(Boolean));

  operations = readOperations();
  const about = new Map(list(contract.tags).map((tag) => [text(tag?.name), tag?.description]));
  const order = [...new Set([...about.keys(), ...operations.map((operation) => operation.tag)])];
  groups = order.map((tag) => ({ tag, operations: operations.filter((operation) => operation.tag === tag) })).filter((group) => group.operations.length);
  for (const group of groups) {
    const id = groupId(group.tag);
    group.element = h('section', { class: 'group', 'aria-labelledby': id }, h('h2', { id, tabindex: '-1' }, group.tag), prose(about.get(group.tag), 'muted'), group.operations.map(operationElement));
    group.count = h('span', { class: 'count' });
    group.link = h('li', {}, h('a', { href: `#${id}` }, group.tag, ' ', group.count));
  }
  byId('list').replaceChildren(...groups.map((group) => group.element));
  byId('groups').replaceChildren(h('ul', {}, groups.map((group) => group.link)));
  byId('groups').hidden = !groups.length;
  applyFilter();
  goToHash();
}

function setState(...children) {
  byId('state').replaceChildren(...children);
  byId('state').hidden = !children.length;
}

function clearFilter() {
  byId('filter').value = '';
  applyFilter();
}

function applyFilter() {
  const wanted = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const group of groups) {
    let here = 0;
    for (const operation of group.operations) {
      const match = wanted.every((word) => operation.words.includes(word));
      operation.element.hidden = !match;
      if (match) here += 1;
    }
    group.element.hidden = here === 0;
    group.link.hidden = here === 0;
    group.count.textContent = String(here);
    shown += here;
  }
  if (!operations.length) {
    setState(h('p', {}, 'The contract names no operations.'));
    byId('filter-count').textContent = '';
    return;
  }
  byId('filter-count').textContent = wanted.length ? `${shown} of ${operations.length} operations` : `${operations.length} operations`;
  if (shown) setState();
  else setState(h('p', {}, 'No operation matches ', h('strong', {}, byId('filter').value.trim()), '.'), action('plain', 'Clear the filter', () => { clearFilter(); byId('filter').focus(); }));
}

/** Opens what the address names: an operation by its id, or a group. */
function goToHash() {
  let name;
  try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
  if (!name) return;
  const operation = operations.find((one) => one.id === name);
  if (operation) {
    if (operation.element.hidden) clearFilter();
    operation.fold.set(true);
    operation.element.scrollIntoView();
    operation.button.focus({ preventScroll: true });
    return;
  }
  const group = groups.find((one) => groupId(one.tag) === name);
  if (group) {
    if (group.element.hidden) clearFilter();
    group.element.scrollIntoView();
    byId(groupId(group.tag)).focus({ preventScroll: true });
  }
}

async function readContract() {
  const main = byId('operations');
  main.setAttribute('aria-busy', 'true');
  setState(h('p', {}, 'Reading the contract…'));
  let problem;
  try {
    const response = await ask(CONTRACT);
    if (response.ok) {
      contract = await response.json();
      if (!isObject(contract)) problem = 'The contract is not an object.';
    } else problem = await problemOf(response);
  } catch (error) {
    problem = error instanceof SyntaxError ? 'The contract is not valid JSON.' : AWAY;
  }
  main.removeAttribute('aria-busy');
  if (problem) {
    setState(h('p', { class: 'problem' }, `The contract could not be read. ${problem}`), action('plain', 'Try again', readContract));
    return;
  }
  showContract();
}

const filter = byId('filter');
filter.addEventListener('input', applyFilter);
filter.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && filter.value) {
    event.preventDefault();
    clearFilter();
  }
});
byId('find').addEventListener('submit', (event) => {
  event.preventDefault();
  operations.find((operation) => !operation.element.hidden)?.button.focus();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || byId('confirm').open) return;
  if (event.target instanceof Element && event.target.closest('input, textarea, select, [contenteditable]')) return;
  event.preventDefault();
  filter.focus();
  filter.select();
});
window.addEventListener('hashchange', goToHash);

askWho();
readContract();
