import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, fieldProblem, nodeReasons, readError, unreachable } from '../src/api/error';

test('an envelope becomes an error with its code, fields and correlation id', () => {
  const body = JSON.stringify({
    error: {
      code: 'invalid_request',
      message: 'Two fields are wrong.',
      correlation_id: 'c-1',
      params: { limit: 3 },
      fields: [
        { path: '/name', code: 'too_long', message: 'At most 40 characters.' },
        { path: '/name', code: 'odd', message: 'No spaces.' },
      ],
    },
  });
  const error = readError(422, body, 'from-header');
  assert.equal(error.code, 'invalid_request');
  assert.equal(error.correlationId, 'c-1');
  assert.deepEqual(error.params, { limit: 3 });
  assert.equal(fieldProblem(error, '/name'), 'At most 40 characters. No spaces.');
  assert.equal(fieldProblem(error, '/other'), undefined);
});

test('what is no envelope still has a code and a sentence', () => {
  for (const text of ['<html>Bad gateway</html>', '', 'null', '[]', '{"error":"text"}', '{"error":{"code":7}}']) {
    const error = readError(502, text, 'c-2');
    assert.equal(error.code, 'unreadable_answer', text);
    assert.equal(error.correlationId, 'c-2');
    assert.match(error.message, /502/);
  }
});

test('only what may pass by itself is called passing', () => {
  assert.equal(unreachable().isPassing, true);
  assert.equal(new ApiError(503, 'x', 'x').isPassing, true);
  assert.equal(new ApiError(429, 'x', 'x').isPassing, true);
  assert.equal(new ApiError(404, 'x', 'x').isPassing, false);
  assert.equal(fieldProblem(new Error('other'), '/name'), undefined);
});

test('what stands against each node is read, whatever else is in the list', () => {
  const error = new ApiError(409, 'no_capacity', 'x', null, { nodes: [{ node: 'a', message: 'Full.' }, 3, null, { node: 'b' }] });
  assert.deepEqual(nodeReasons(error), [{ node: 'a', message: 'Full.' }]);
  assert.deepEqual(nodeReasons(new ApiError(409, 'x', 'x', null, { nodes: 'text' })), []);
});
