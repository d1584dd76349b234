import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNext, signInAddress } from '../src/session/next';

test('a page of ours is kept with its query and fragment', () => {
  for (const kept of ['/', '/workloads', '/workloads/instance/1?tab=logs', '/open/abc?next=%2Flab', '/catalog#x']) {
    assert.equal(parseNext(kept), kept);
  }
});

test('whatever could lead elsewhere leads home', () => {
  const hostile = [
    null, undefined, '', 'workloads', 'https://evil.example', '//evil.example', '/\\evil.example', '\\\\evil.example',
    '/\t/evil.example', '/\n/evil.example', ' /x', 'javascript:alert(1)', '/..//evil.example', '/.//evil.example/x',
    '/api/v1/auth/whoami', '/auth/link?code=1', '/sign-in?next=/sign-in', '/v2/', '/x\u0000y',
  ];
  for (const text of hostile) assert.equal(parseNext(text), '/', String(text));
});

test('the sign-in page comes back to where one was', () => {
  assert.equal(signInAddress('/workloads?ended=1'), '/sign-in?next=%2Fworkloads%3Fended%3D1');
  assert.equal(signInAddress('/'), '/sign-in');
  assert.equal(signInAddress('/sign-in?next=x', 'session_expired'), '/sign-in?problem=session_expired');
});
