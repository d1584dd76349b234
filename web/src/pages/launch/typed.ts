/** What can be asked for at all; beyond that the whole request would be refused. */
export interface Limits {
  least: number;
  most: number;
  whole: boolean;
}

/** The number somebody has typed so far; nothing if it is none that can be sent. */
export function typed(text: string, limits?: Limits): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) return undefined;
  const fits = !limits || (value >= limits.least && value <= limits.most && (!limits.whole || Number.isInteger(value)));
  return fits ? value : undefined;
}
