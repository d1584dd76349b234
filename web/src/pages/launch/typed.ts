/** What can be asked for at all; beyond that the whole request would be refused. */
export interface Limits {
  least: number;
  most: number;
  whole: boolean;
}

export const GPUS: Limits = { least: 0, most: 64, whole: true };
/** In thousandths. */
export const CPU_MILLIS: Limits = { least: 1, most: 4_096_000, whole: true };
export const MEMORY_MIB: Limits = { least: 6, most: 67_108_864, whole: true };

/** The number somebody has typed so far; nothing if it is none that can be sent. */
export function typed(text: string, limits?: Limits): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) return undefined;
  const fits = !limits || (value >= limits.least && value <= limits.most && (!limits.whole || Number.isInteger(value)));
  return fits ? value : undefined;
}
