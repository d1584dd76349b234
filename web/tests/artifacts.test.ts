import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextChannel } from '../src/pages/artifacts/channels';
import { shortId } from '../src/ui/format';

test('promotion leads to the next channel, and from the last to none', () => {
  const order = ['dev', 'staging', 'production'];
  const next = (channel: string | null) => nextChannel(order, { channel, status: 'promoted' });
  assert.deepEqual([null, 'dev', 'staging', 'production', 'gone'].map(next), ['dev', 'staging', 'production', undefined, 'dev']);
  assert.equal(nextChannel(order, { channel: 'dev', status: 'deprecated' }), undefined);
  assert.equal(nextChannel([], { channel: null, status: 'published' }), undefined);
});

test('a UUID is told by its end, and a name is never cut', () => {
  assert.equal(shortId('0190b5a0-0000-7000-8000-0123456789ab'), '…456789ab');
  assert.equal(shortId('a-rather-long-name-of-an-app'), 'a-rather-long-name-of-an-app');
});
