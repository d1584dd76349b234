import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FormAddon } from '../src/api/schema';
import { chosenAddons, effectWords, totalSentence } from '../src/pages/launch/effects';
import { refusal } from '../src/pages/launch/plan';
import { mountWords } from '../src/ui/format';

const addon = (name: string, chosen: boolean, requiredBy: string[] = []): FormAddon => ({
  name, kind: 'metrics_exporter', display_name: name, description: null, chosen, required_by: requiredBy, requires: [], components: [],
  effect: { cpu_millis: 250, memory_mib: 512, gpu_count: 0, storage_mib: 1024, share: { amount_micros: 100_000, currency: 'EUR' } },
  fits: true, reasons: [],
});

/** C-07: what add-ons take is said before the launch, of all together. */
test('the effect of add-ons is said in words, of each and of all', () => {
  assert.equal(effectWords(addon('a', false).effect), '0.25 vCPU, 512 MiB of memory and 1 GiB of storage');
  assert.equal(totalSentence([addon('a', false)]), 'No add-on is chosen.');
  const sentence = totalSentence([addon('a', true), addon('b', true, ['a']), addon('c', false)]);
  assert.match(sentence, /^2 add-ons are chosen, taking 0\.5 vCPU, 1 GiB of memory and 2 GiB of storage of the allocation: 0\.20 EUR per hour/);
});

test('an add-on that another one brought is not chosen by itself', () => {
  const addons = [addon('a', true), addon('b', true, ['a'])];
  assert.deepEqual(chosenAddons(addons, {}), ['a']);
  assert.deepEqual(chosenAddons(addons, { addons: [] }), []);
});

/** A good plan that no engine runs is told apart from one that is refused. */
test('launching is offered only where every check has passed', () => {
  const check = (name: string, passed: boolean) => ({ name, passed, message: '' });
  assert.equal(refusal([]), null);
  assert.equal(refusal([check('engine', true), check('gpus', true)]), null);
  assert.match(refusal([check('gpus', true), check('engine', false)]) ?? '', /no engine of this platform runs it yet/);
  assert.match(refusal([check('gpus', false), check('engine', false)]) ?? '', /2 checks did not pass/);
});

/** I-06: where the workspace lives is said in words. */
test('what stands at a place for storage is said in words', () => {
  assert.equal(mountWords({ source: { kind: 'scratch' }, read_only: false }), 'scratch, deleted with the instance');
  const source = { kind: 'volume', volume_id: 'v' } as const;
  assert.equal(mountWords({ source, volume_name: 'home', read_only: true }), 'volume home, to read only, kept when the instance ends');
});
