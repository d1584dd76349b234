import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppForm, LaunchRequest, Preset } from '../src/api/schema';
import { type Fill, fillIn, type Step } from '../src/pages/launch/fill';
import { LONGEST_LINK, linkTo, readLink } from '../src/pages/launch/link';
import { choicesOf, fillOf } from '../src/pages/launch/preset';
import { visible } from '../src/ui/format';

const PROPERTIES = {
  greeting: { type: 'string', title: 'Greeting' },
  workers: { type: 'integer', title: 'Workers' },
  rate: { type: 'number' },
  debug: { type: 'boolean' },
  packages: { type: 'array', items: { type: 'string' } },
  key: { type: 'string', format: 'secret_ref', title: 'Key' },
  address: { type: 'string', readOnly: true },
};

function formOf(properties: object = PROPERTIES, more: object = {}): AppForm {
  return {
    app: { slug: 'hello', display_name: 'Hello', version: '1.0.0' },
    versions: [{ version: '1.1.0' }, { version: '1.0.0' }],
    schema: { properties },
    allocations: [{ id: 'a-1', name: 'demo' }],
    variants: [{ name: 'cuda' }],
    mounts: [{ name: 'workspace' }],
    access: [{ endpoint: 'http' }],
    addons: [],
    lanes: [],
    request: {},
    ...more,
  } as unknown as AppForm;
}

function step(search: string, form = formOf(), wish: LaunchRequest = {}): Step {
  const { fill, told } = readLink(search);
  assert.ok(fill);
  const made = fillIn(fill, form, wish);
  return { ...made, told: [...told, ...made.told] };
}

/** U-07: a link sets declared fields only, each by its declared type. */
test('a link fills in values by the types of the schema', () => {
  const made = step('?values.greeting=007&values.workers=3&values.rate=0.5&values.debug=false&values.packages=a&values.packages=b&allocation=demo&variant=cuda&resources.gpu_count=1');
  assert.deepEqual(made.wish, {
    target_allocation_id: 'a-1',
    variant: 'cuda',
    resources: { gpu_count: 1 },
    values: { greeting: '007', workers: 3, rate: 0.5, debug: false, packages: ['a', 'b'] },
  });
  assert.deepEqual(made.told, []);
  assert.equal(made.rest, null);
  assert.deepEqual(step('?values.packages=').wish.values, { packages: [] });
});

test('what a link cannot set is told and not taken', () => {
  const made = step(
    '?values.gone=1&values.workers=3.5&values.debug=yes&values.greeting=a&values.greeting=b&values.key=prod&values.address=x&resources.disk=1&resources.gpu_count=9999&resources.cpu_millis=1e9' +
      '&allocation=other&variant=rocm&addons=metrics&lanes.a.gpu_count=1&access.http=public&mounts.workspace=home&name=x&__proto__=1&values.__proto__=1&values.constructor=1',
  );
  assert.deepEqual(made.wish, {});
  assert.deepEqual(made.taken, []);
  assert.equal(made.told.length, 19, made.told.join('\n'));
  for (const word of ['gone', 'Workers', 'debug', 'Greeting', 'Key: secrets are not taken', 'address', 'disk', 'GPUs', 'other', 'rocm', 'metrics', 'a.gpu_count', 'access.http', 'mounts.workspace', 'name', '__proto__', 'constructor']) {
    assert.ok(made.told.some((sentence) => sentence.includes(word)), word);
  }
});

test('the version comes first, and parameters that hang on others after them', () => {
  const { fill } = readLink('?values.reviewers=2&values.mode=careful&version=1.1.0');
  const first = fillIn(fill as Fill, formOf(), {});
  assert.deepEqual(first.wish, { app_version: '1.1.0' });
  const newer = { app: { slug: 'hello', display_name: 'Hello', version: '1.1.0' } };
  const mode = { mode: { type: 'string' } };
  const second = fillIn(first.rest as Fill, formOf(mode, newer), first.wish);
  assert.deepEqual(second.wish.values, { mode: 'careful' });
  assert.deepEqual(second.told, [], 'it may come yet');
  const third = fillIn(second.rest as Fill, formOf({ ...mode, reviewers: { type: 'integer' } }, newer), second.wish);
  assert.deepEqual(third.wish.values, { mode: 'careful', reviewers: 2 });
  assert.equal(third.rest, null);
  const never = fillIn(second.rest as Fill, formOf(mode, newer), second.wish);
  assert.equal(never.rest, null);
  assert.match(never.told.join(), /reviewers is no parameter/);
});

/** U-07: conditions of parameters look at add-ons and amounts too. */
test('parameters that hang on anything else of the same link come after it', () => {
  const offered = { addons: [{ name: 'stats' }], lanes: [{ name: 'chat' }] };
  const later = { ...PROPERTIES, keep_days: { type: 'integer' } };
  for (const other of ['addons=stats', 'resources.gpu_count=2', 'lanes.chat.gpu_count=2', 'variant=cuda', 'allocation=demo']) {
    const first = step(`?version=1.0.0&${other}&values.keep_days=3`, formOf(PROPERTIES, offered));
    assert.deepEqual(first.told, [], `${other}: it may come yet`);
    const second = fillIn(first.rest as Fill, formOf(later, offered), first.wish);
    assert.deepEqual(second.wish, { ...first.wish, values: { keep_days: 3 } }, other);
    assert.deepEqual([second.rest, second.told], [null, []], other);
    const never = fillIn(first.rest as Fill, formOf(PROPERTIES, offered), first.wish);
    assert.equal(never.rest, null, 'it is asked for once');
    assert.match(never.told.join(), /keep_days is no parameter/, other);
  }
  assert.match(step('?version=1.0.0&values.keep_days=3').told.join(), /keep_days is no parameter/, 'nothing could bring it');
});

test('a version that cannot be launched is told, and the rest is taken', () => {
  const made = step('?version=9.9.9&values.workers=3');
  assert.deepEqual(made.wish, { values: { workers: 3 } });
  assert.match(made.told[0] ?? '', /9\.9\.9/);
});

test('a link that is too long, or has too much in it, is refused as a whole', () => {
  const long = readLink(`?values.greeting=${'x'.repeat(LONGEST_LINK)}`);
  assert.equal(long.fill, null);
  assert.match(long.told.join(), /too long/);
  const many = readLink(`?${'v=1&'.repeat(300)}`);
  assert.equal(many.fill, null);
  assert.deepEqual(readLink(''), { fill: null, told: [] });
});

test('a text that hides or turns characters is shown as what it is', () => {
  assert.equal(visible('a\u202eb\u0000\u200bc<script>'), 'a\\u{202e}b\\u{0}\\u{200b}c<script>');
  assert.ok(visible('x'.repeat(5000)).length < 250);
  assert.match(step('?values.x%E2%80%AEy=1').told.join(), /x\\u\{202e\}y/);
});

test('the link of a form fills in the same again, without secrets, storage and access', () => {
  const request = { values: { greeting: 'a&b=c #1', workers: 3, debug: false, packages: ['x', 'y z'], key: 'prod' } };
  const wish: LaunchRequest = {
    name: 'mine', target_allocation_id: 'a-1', variant: 'cuda', resources: { gpu_count: 0, cpu_millis: 250 },
    mounts: { workspace: { kind: 'volume', volume_id: 'v' } }, access: { http: 'public' }, values: { ...request.values, refused: 'raw' },
  };
  const link = linkTo(formOf(PROPERTIES, { request }), wish);
  assert.ok(link);
  assert.doesNotMatch(link, /prod|raw|mine|public|workspace/);
  const again = step(link.slice(link.indexOf('?')));
  assert.deepEqual(again.told, []);
  assert.deepEqual(again.wish, {
    app_version: '1.0.0', target_allocation_id: 'a-1', variant: 'cuda', resources: { gpu_count: 0, cpu_millis: 250 },
    values: { greeting: 'a&b=c #1', workers: 3, debug: false, packages: ['x', 'y z'] },
  });
  assert.equal(linkTo(formOf(PROPERTIES, { request: { values: { greeting: 'x'.repeat(LONGEST_LINK) } } }), wish), null);
});

test('a preset fills in what it kept, and tells what the app has no more', () => {
  const request = {
    values: { workers: 3, key: 'prod', gone: 1 }, resources: { memory_mib: 64 }, variant: 'cuda',
    mounts: { workspace: { kind: 'scratch' }, old: { kind: 'scratch' } }, access: { http: 'private' }, target_allocation_id: 'a-1', name: 'x',
  };
  const choices = choicesOf(formOf(PROPERTIES, { request }));
  assert.deepEqual(Object.keys(choices).filter((name) => choices[name as keyof typeof choices] !== undefined).sort(), ['access', 'mounts', 'resources', 'values', 'variant']);
  const preset = { id: 'p', name: 'usual', app_slug: 'hello', is_default: false, choices, version: 1, updated_at: '' } as Preset;
  const first = fillIn(fillOf(preset), formOf(), {});
  assert.deepEqual(first.wish, {
    values: { workers: 3, key: 'prod' }, resources: { memory_mib: 64 }, variant: 'cuda', mounts: { workspace: { kind: 'scratch' } }, access: { http: 'private' },
  });
  assert.match(first.told.join(), /no place for storage old/);
  assert.match(fillIn(first.rest as Fill, formOf(), first.wish).told.join(), /gone is no parameter/);
});

test('a preset fills in parameters that hang on its add-ons', () => {
  const offered = { addons: [{ name: 'stats' }] };
  const preset = { name: 'usual', choices: { addons: ['stats'], values: { keep_days: 3 } } } as unknown as Preset;
  const first = fillIn(fillOf(preset), formOf(PROPERTIES, offered), {});
  assert.deepEqual([first.wish, first.told], [{ addons: ['stats'] }, []]);
  const second = fillIn(first.rest as Fill, formOf({ ...PROPERTIES, keep_days: { type: 'integer' } }, offered), first.wish);
  assert.deepEqual(second.wish, { addons: ['stats'], values: { keep_days: 3 } });
  assert.deepEqual([second.rest, second.told], [null, []]);
});
