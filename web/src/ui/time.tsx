import { useSyncExternalStore } from 'react';
import { ago, date } from './format';

/** One clock for the page, so that all "ago"s move together. */
let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer) {
      clearInterval(timer);
      timer = null;
    }
  };
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

export function Ago({ at }: { at: string }) {
  const current = useNow();
  return (
    <time dateTime={at} title={date(at)}>
      {ago(at, Math.max(current, Date.parse(at)))}
    </time>
  );
}

/** For moments to come. */
export function Until({ at }: { at: string }) {
  const current = useNow();
  return (
    <time dateTime={at} title={date(at)}>
      {ago(at, current)}
    </time>
  );
}
