import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server.edge';
import Parameters from '../src/pages/launch/parameters';

const schema = { type: 'object', properties: { size: { type: 'integer', title: 'Size' }, debug: { type: 'boolean', title: 'Debug' }, name: { type: 'string', title: 'Name' } } };
const groups = [
  { title: 'For experts', parameters: ['debug'], collapsed: true },
  { title: 'Usual', parameters: ['size'], collapsed: false },
];
const hints = { 'ui:groups': groups, debug: { 'ui:group': 'For experts' }, size: { 'ui:group': 'Usual' } };

interface Case {
  hints?: object;
  chosen?: Record<string, unknown>;
  problems?: { path: string; code: string; message: string }[];
}

/** The page as it is shown first. */
function drawn(more: Case = {}): string {
  const { chosen = {}, problems = [] } = more;
  return renderToStaticMarkup(
    createElement(Parameters, { schema, hints: { ...hints, ...more.hints }, sources: {}, values: chosen, chosen, problems, onChange: () => {} }),
  );
}

/** B-02: what an author does not want to be in the way is closed, and one key away. */
test('a group that is closed at first is closed, and others cannot be', () => {
  const page = drawn();
  assert.match(page, /<details><summary>For experts<\/summary><div class="fields">.*Debug.*<\/details>/);
  assert.match(page, /<fieldset><legend>Usual<\/legend>/);
  assert.equal(page.split('<details').length, 2);
  assert.doesNotMatch(drawn({ hints: { 'ui:groups': undefined } }), /<details/);
});

test('a closed group opens where something in it must be seen', () => {
  const open = /<details open=""><summary>For experts/;
  assert.match(drawn({ chosen: { debug: true } }), open, 'filled in from a link');
  assert.match(drawn({ problems: [{ path: '/values/debug', code: 'c', message: 'Not here.' }] }), open, 'an error');
  assert.match(drawn({ hints: { debug: { 'ui:group': 'For experts', 'ui:warning': 'Logs become long.' } } }), open, 'a warning');
  const elsewhere = drawn({ chosen: { size: 3 }, problems: [{ path: '/values/name', code: 'c', message: 'Too short.' }], hints: { name: { 'ui:warning': 'Seen by all.' } } });
  assert.match(elsewhere, /<details><summary>For experts/, 'what is elsewhere opens nothing');
});
