/** Numbers and times in words. All pure; "now" is an argument. */

export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function mib(count: number): string {
  return count >= 1024 ? `${trim(count / 1024)} GiB` : `${count} MiB`;
}

export function cpus(millis: number): string {
  return `${trim(millis / 1000)} vCPU`;
}

function trim(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** How long something took. */
export function span(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** How long ago, as one says it. */
export function ago(then: string, now: number): string {
  const seconds = Math.round((now - Date.parse(then)) / 1000);
  if (seconds < -60) return `in ${rough(-seconds)}`;
  if (seconds < 10) return 'just now';
  return `${rough(seconds)} ago`;
}

function rough(seconds: number): string {
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

export function clock(moment: number): string {
  return new Date(moment).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

export function date(text: string): string {
  return new Date(text).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

/** With seconds, where the order of things matters. */
export function moment(text: string): string {
  return new Date(text).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });
}

/** The end of a UUID: those of one day begin alike. Other ids are names, and stay whole. */
export function shortId(id: string): string {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? `…${id.slice(-8)}` : id;
}

/** A price as it stands in the price book, e.g. 1.20 EUR per hour. */
export function price(value: { amount_micros: number; currency: string; per_units: number; unit: string }): string {
  const isHour = value.per_units === 3600 && value.unit.includes('second');
  const per = isHour ? 'hour' : `${value.per_units === 1 ? '' : `${value.per_units} `}${value.unit.replaceAll('_', ' ')}`;
  return `${money(value.amount_micros, value.currency)} per ${per}`;
}

/** `start_completed` → `Start completed`. */
export function words(key: string): string {
  const text = key.replace(/[_.]/g, ' ').replace(/\bgpu(s?)\b/g, 'GPU$1');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const LONGEST_SHOWN = 200;
/** Controls, and characters that have no width or turn the direction of what follows. */
const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A text of somebody else, such that it looks like what it is. */
export function visible(text: string): string {
  const cut = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return cut.replace(HIDDEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Millionths of a currency. */
export function money(micros: number, currency: string): string {
  return `${(micros / 1_000_000).toLocaleString([], { minimumFractionDigits: 2, maximumFractionDigits: 6 })} ${currency}`;
}

interface Mount {
  source: { kind: 'scratch' } | { kind: 'volume'; volume_id: string };
  volume_name?: string | null;
  read_only: boolean;
}

/** What stands at a place for storage. */
export function mountWords(mount: Mount): string {
  if (mount.source.kind === 'scratch') return 'scratch, deleted with the instance';
  return `volume ${mount.volume_name ?? mount.source.volume_id}${mount.read_only ? ', to read only' : ''}, kept when the instance ends`;
}
