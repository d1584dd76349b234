import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppForm } from '../src/api/schema';
import { changedValues, extraErrors, isOfDefaults, safeHints } from '../src/pages/launch/hints';
import { laneHindrance } from '../src/pages/launch/lanes';
import { typed } from '../src/pages/launch/typed';

const schema = {
  properties: {
    size: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
    name: { type: 'string' },
    mode: { type: 'string', enum: ['a', 'b'], default: 'a' },
    packages: { type: 'array', items: { type: 'string' } },
  },
};

/** B-02: hints never break a form. */
test('a hint that does not fit its field is left out', () => {
  const hints = {
    'ui:order': ['name', 'gone'],
    size: { 'ui:widget': 'range', 'ui:help': 'h' },
    name: { 'ui:widget': 'range' },
    mode: { 'ui:widget': 'no-such-widget', 'ui:group': 'G' },
    packages: { 'ui:widget': 'tags' },
  };
  assert.deepEqual(safeHints(schema, hints), {
    'ui:order': ['name', '*'],
    size: { 'ui:widget': 'range', 'ui:help': 'h' },
    name: {},
    mode: { 'ui:group': 'G' },
    packages: { 'ui:widget': 'lines' },
  });
  assert.deepEqual(safeHints(schema, {}).packages, { 'ui:widget': 'lines' });
  assert.deepEqual(safeHints({}, { x: {} }), {});
});

/** B-02: whatever the field is drawn as otherwise. */
test('a field of any type can be hidden', () => {
  const hidden = { 'ui:widget': 'hidden' };
  const hints = { size: hidden, name: hidden, mode: hidden, packages: hidden };
  assert.deepEqual(safeHints(schema, hints), hints);
});

test('what the server says is shown at its field', () => {
  const problems = [
    { path: '/values/size', code: 'c', message: 'Too large.' },
    { path: '/values/packages/1', code: 'c', message: 'No such form.' },
    { path: '/name', code: 'c', message: 'elsewhere' },
  ];
  assert.deepEqual(extraErrors(problems), { size: { __errors: ['Too large.'] }, packages: { __errors: ['No such form.'] } });
});

/** Defaults of a project can break a rule of the app: whoever opens the form has typed nothing, and must learn what is wrong. */
test('what is wrong with defaults is told at once, what is missing only after a try', () => {
  const at = (path: string, code: string) => ({ path, code, message: 'm' });
  assert.equal(isOfDefaults(at('/values/size', 'rule_failed'), {}), true, 'a rule');
  assert.equal(isOfDefaults(at('/values/size', 'too_large'), {}), true, 'the value of a default');
  assert.equal(isOfDefaults(at('/values/packages/1', 'wrong_form'), {}), true);
  assert.equal(isOfDefaults(at('/values/name', 'required'), {}), false, 'nobody is told off before they tried');
  assert.equal(isOfDefaults(at('/values/size', 'rule_failed'), { size: 9 }), false, 'typed: it is told at its field');
  assert.equal(isOfDefaults(at('/name', 'wrong_form'), {}), false, 'no value');
});

/** P-02: that no allocation fits the lanes is said where the lanes are. */
test('lanes without GPUs say what stands against the allocation they had', () => {
  const few = { id: 'a-1', name: 'pair', reasons: [{ code: 'c', message: '2 are free, 3 needed.' }, { code: 'd', message: 'Too little memory.' }] };
  const other = { id: 'a-2', name: 'single', reasons: [{ code: 'c', message: '1 is free, 3 needed.' }] };
  const form = (allocation_id: string | null, allocations: object[], gpus: object[] = []) =>
    ({ allocation_id, allocations, lanes: [{ name: 'chat', runs: true, gpus }, { name: 'off', runs: false, gpus: [] }] }) as unknown as AppForm;
  assert.equal(laneHindrance(form(null, [other, few]), 'a-1'), 'Allocation pair: 2 are free, 3 needed.', 'the one from before');
  assert.equal(laneHindrance(form('a-2', [other, few]), 'a-1'), 'Allocation single: 1 is free, 3 needed.', 'the one that is chosen');
  assert.equal(laneHindrance(form(null, [few]), null), 'Allocation pair: 2 are free, 3 needed.', 'the only one');
  assert.equal(laneHindrance(form(null, [other, few]), null), undefined);
  assert.equal(laneHindrance(form('a-1', [few], [{ uuid: 'g' }]), null), undefined, 'nothing is missing');
  assert.equal(laneHindrance(form('a-1', [{ ...few, reasons: [] }]), null), undefined);
});

test('only what was changed is sent, and an emptied text or list without a default is no value', () => {
  const shown = { size: 3, name: 'x', mode: 'a' };
  assert.deepEqual(changedValues(schema, shown, { ...shown, size: 5 }, {}), { size: 5 });
  assert.deepEqual(changedValues(schema, shown, { ...shown, name: '' }, { name: 'x' }), {});
  assert.deepEqual(changedValues(schema, shown, { ...shown, mode: '' }, {}), { mode: '' });
  assert.deepEqual(changedValues(schema, shown, { ...shown, packages: [] }, {}), {}, 'the renderer fills in empty lists by itself');
  assert.deepEqual(changedValues(schema, shown, shown, { size: 3 }), { size: 3 });
});

test('only numbers that can be sent are sent; an empty field means the default', () => {
  const limits = { least: 6, most: 100, whole: true };
  assert.deepEqual(['', ' ', '1e', '5', '6.5', '101', '64'].map((text) => typed(text, limits)), [undefined, undefined, undefined, undefined, undefined, undefined, 64]);
  assert.deepEqual(['', '0.5', '-3'].map((text) => typed(text)), [undefined, 0.5, -3]);
});
