import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ears, follow, type LiveEvent, type LiveState, parseEvent, socketAddress } from '../src/live/follow';
import { topicsOf } from '../src/live/topics';

function harness() {
  const opened: { after: number | null; ears: Ears; closed: boolean }[] = [];
  const events: LiveEvent[] = [];
  const states: LiveState[] = [];
  const pauses: number[] = [];
  let due: (() => void) | null = null;
  let gaps = 0;
  const stop = follow({
    connect(after, ears) {
      const entry = { after, ears, closed: false };
      opened.push(entry);
      return { close: () => (entry.closed = true) };
    },
    onEvent: (event) => events.push(event),
    onState: (state) => states.push(state),
    onGap: () => (gaps += 1),
    later(milliseconds, then) {
      pauses.push(milliseconds);
      due = then;
      return () => (due = null);
    },
  });
  const last = () => opened[opened.length - 1]!;
  const tick = () => {
    const then = due;
    due = null;
    then?.();
  };
  return { opened, events, states, pauses, last, tick, stop, gaps: () => gaps, waiting: () => due !== null };
}

const text = (sequence: number) => JSON.stringify({ sequence, type: 'apps.instance.running', subject: 's', data: {} });

test('after a break it reads on from the last event and says none twice', () => {
  const h = harness();
  h.last().ears.onOpen();
  h.last().ears.onText(text(7));
  h.last().ears.onText(text(8));
  h.last().ears.onClose();
  assert.equal(h.states.at(-1), 'down');
  h.tick();
  assert.equal(h.last().after, 8);
  h.last().ears.onOpen();
  h.last().ears.onText(text(8));
  h.last().ears.onText(text(9));
  assert.deepEqual(h.events.map((event) => event.sequence), [7, 8, 9]);
  assert.equal(h.states.at(-1), 'live');
  assert.equal(h.gaps(), 0);
});

test('a break before the first event is a gap, because nobody knows where it was', () => {
  const h = harness();
  h.last().ears.onOpen();
  h.last().ears.onClose();
  h.tick();
  assert.equal(h.last().after, null);
  h.last().ears.onOpen();
  assert.equal(h.gaps(), 1);
});

test('the pauses grow up to a bound, and start anew once it worked', () => {
  const h = harness();
  for (let i = 0; i < 8; i += 1) {
    h.last().ears.onClose();
    h.tick();
  }
  assert.deepEqual(h.pauses, [500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
  h.last().ears.onOpen();
  h.last().ears.onClose();
  assert.equal(h.pauses.at(-1), 500);
});

test('stopping closes it and opens no other', () => {
  const h = harness();
  h.last().ears.onOpen();
  h.stop();
  assert.equal(h.last().closed, true);
  h.last().ears.onClose();
  assert.equal(h.waiting(), false);
  h.last().ears.onText(text(1));
  assert.equal(h.events.length, 0);
});

test('what is no event is left out', () => {
  for (const odd of ['', '{', 'null', '[]', '{"sequence":"1","type":"x"}', '{"sequence":1}']) assert.equal(parseEvent(odd), null);
});

test('the socket is on the page\'s own host and under its own security', () => {
  assert.equal(socketAddress({ protocol: 'http:', host: 'h:1' }, 'p', null), 'ws://h:1/api/v1/projects/p/events/socket');
  assert.equal(socketAddress({ protocol: 'https:', host: 'h' }, 'p', 5), 'wss://h/api/v1/projects/p/events/socket?after=5');
});

test('an event makes old what it is about and nothing else', () => {
  assert.deepEqual(topicsOf('apps.instance.running'), ['instances', 'allocations', 'form', 'audit']);
  assert.deepEqual(topicsOf('apps.preparing'), ['catalog', 'entitlements', 'form', 'audit']);
  assert.deepEqual(topicsOf('volumes.created'), ['form', 'audit']);
  assert.deepEqual(topicsOf('launch_presets.changed'), ['presets', 'form', 'audit']);
  assert.deepEqual(topicsOf('something.new'), ['audit']);
});
