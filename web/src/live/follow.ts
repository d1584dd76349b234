/**
 * Follows a project's events for as long as the page is open: reads on from the last number it has seen, so that nothing
 * is missed and nothing comes twice however often the connection breaks.
 *
 * A WebSocket rather than server-sent events: a browser keeps only six HTTP/1.1 connections per host for all tabs, and a
 * stream would hold one of them in each.
 */
export interface LiveEvent {
  sequence: number;
  type: string;
  subject: string;
  data: unknown;
}

export type LiveState = 'connecting' | 'live' | 'down';

export interface Connection {
  close(): void;
}

export interface Ears {
  onOpen(): void;
  onText(text: string): void;
  onClose(): void;
}

export interface FollowOptions {
  /** Opens a connection that tells what comes after a number; `null` is from now on. */
  connect(after: number | null, ears: Ears): Connection;
  onEvent(event: LiveEvent): void;
  onState(state: LiveState): void;
  /** The connection is back, but nobody knows what happened meanwhile. */
  onGap(): void;
  /** Calls back after so many milliseconds; gives back how to call it off. */
  later(milliseconds: number, then: () => void): () => void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

export function follow(options: FollowOptions): () => void {
  let after: number | null = null;
  let pause = FIRST_PAUSE_MS;
  let stopped = false;
  let wasOpen = false;
  let connection: Connection | null = null;
  let callOff = () => {};

  const open = () => {
    let over = false;
    connection = options.connect(after, {
      onOpen() {
        if (over || stopped) return;
        pause = FIRST_PAUSE_MS;
        options.onState('live');
        if (wasOpen && after === null) options.onGap();
        wasOpen = true;
      },
      onText(text) {
        if (over || stopped) return;
        const event = parseEvent(text);
        if (event === null || (after !== null && event.sequence <= after)) return;
        after = event.sequence;
        options.onEvent(event);
      },
      onClose() {
        if (over || stopped) return;
        over = true;
        options.onState(wasOpen ? 'down' : 'connecting');
        callOff = options.later(pause, open);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      },
    });
  };
  options.onState('connecting');
  open();
  return () => {
    stopped = true;
    callOff();
    connection?.close();
  };
}

export function parseEvent(text: string): LiveEvent | null {
  try {
    const event = JSON.parse(text) as Partial<LiveEvent> | null;
    if (typeof event?.sequence !== 'number' || typeof event.type !== 'string') return null;
    return { sequence: event.sequence, type: event.type, subject: String(event.subject ?? ''), data: event.data ?? null };
  } catch {
    return null;
  }
}

/** The address of a project's event socket. */
export function socketAddress(page: { protocol: string; host: string }, project: string, after: number | null): string {
  const scheme = page.protocol === 'https:' ? 'wss' : 'ws';
  const query = after === null ? '' : `?after=${after}`;
  return `${scheme}://${page.host}/api/v1/projects/${encodeURIComponent(project)}/events/socket${query}`;
}
