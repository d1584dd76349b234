import assert from 'node:assert/strict';
import { test } from 'node:test';
import { append, cut, LineReader, since } from '../src/pages/workload/lines';
import { stepsOf } from '../src/pages/workload/progress';

let second = 0;
const entry = (event_type: string, payload: object = {}) => {
  second += 1;
  return { id: String(second), event_type, payload, occurred_at: new Date(1_700_000_000_000 + second * 1000).toISOString() };
};
const brief = (timeline: Parameters<typeof stepsOf>[0]) => stepsOf(timeline).map((step) => `${step.state}: ${step.title}`);

test('a launch goes from the node to the image to readiness, each with its time', () => {
  const timeline = [entry('requested'), entry('deploying'), entry('pulling', { done_bytes: 10, total_bytes: 40 })];
  assert.deepEqual(brief(timeline), ['done: Hand it to the node', 'now: Fetch the image', 'to-do: Start and wait until it is ready']);
  assert.deepEqual(stepsOf(timeline)[1]!.pull, { done: 10, total: 40 });
  timeline.push(entry('pulling', { done_bytes: 30, total_bytes: 40 }), entry('start_completed'));
  const steps = stepsOf(timeline);
  assert.deepEqual(steps.map((step) => step.state), ['done', 'done', 'done']);
  assert.equal(steps[0]!.ended! - steps[0]!.began!, 1000);
  assert.deepEqual(steps[1]!.pull, { done: 40, total: 40 });
});

test('an image that is there already needs no step', () => {
  assert.deepEqual(brief([entry('requested'), entry('deploying')]), ['done: Hand it to the node', 'now: Start and wait until it is ready']);
});

test('a failure belongs to the step under way, with its words', () => {
  const steps = stepsOf([entry('requested'), entry('deploying'), entry('failed', { reason: 'container_exited', detail: 'exit code 1' })]);
  assert.equal(steps[1]!.state, 'failed');
  assert.equal(steps[1]!.note, 'exit code 1');
});

test('only the latest operation is told', () => {
  const timeline = [entry('requested'), entry('deploying'), entry('start_completed'), entry('stop_requested')];
  assert.deepEqual(brief(timeline), ['now: Stop every process of it']);
  timeline.push(entry('stopped'), entry('decommission_requested'), entry('decommissioned'));
  assert.deepEqual(brief(timeline), ['done: Stop every process of it', 'done: Remove everything and look that nothing is left']);
  assert.deepEqual(stepsOf([]), []);
});

test('log lines survive any cut of the bytes', () => {
  const text = '{"component":"main","stream":"stdout","at":1,"line":"a <b>"}\n\nnot json\n{"component":"main","stream":"stderr","at":2,"line":"b"}\n';
  for (let size = 1; size < text.length; size += 7) {
    const reader = new LineReader();
    const lines = [];
    for (let at = 0; at < text.length; at += size) lines.push(...reader.push(text.slice(at, at + size)));
    assert.deepEqual(lines.map((line) => line.line), ['a <b>', 'b']);
  }
});

test('a stream that is taken up again says no line twice, and no more are kept than asked', () => {
  const line = (at: number, text: string) => ({ component: 'main', stream: 'stdout', at, line: text });
  const first = append([], [line(1, 'a'), line(2, 'b')], 10);
  const second = append(first, [line(2, 'b'), line(2, 'c'), line(3, 'd')], 10);
  assert.deepEqual(second.map((one) => one.line), ['a', 'b', 'c', 'd']);
  assert.deepEqual(append(second, [line(4, 'e')], 2).map((one) => one.line), ['d', 'e']);
  assert.equal(append(second, [line(1, 'a')], 10), second);
  assert.equal(since([]), undefined);
  assert.equal(since([line(1_700_000_000_123_456, 'x')]), '2023-11-14T22:13:20.123Z');
});

test('hits are cut out as text', () => {
  assert.deepEqual(cut('GET /get', 'get'), [{ text: 'GET', hit: true }, { text: ' /', hit: false }, { text: 'get', hit: true }]);
  assert.deepEqual(cut('abc', ''), [{ text: 'abc', hit: false }]);
  assert.deepEqual(cut('<img>', 'x'), [{ text: '<img>', hit: false }]);
});
