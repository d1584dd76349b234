import { useSyncExternalStore } from 'react';

/** One polite live region for the whole page: what happened, for those who cannot see it happen. */
let said = '';
const listeners = new Set<() => void>();

export function announce(text: string): void {
  // The same words twice are no change to a screen reader.
  said = said === text ? `${text}\u00a0` : text;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Announcer() {
  const text = useSyncExternalStore(subscribe, () => said);
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {text}
    </div>
  );
}
