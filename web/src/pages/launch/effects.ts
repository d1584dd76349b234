import type { AddonEffect, FormAddon, LaunchRequest } from '../../api/schema';
import { cpus, mib, money, plural } from '../../ui/format';

/** The add-ons somebody chose themselves, without those that come along. */
export function chosenAddons(addons: FormAddon[], wish: LaunchRequest): string[] {
  return wish.addons ?? addons.filter((one) => one.chosen && one.required_by.length === 0).map((one) => one.name);
}

/** What an add-on takes, in words; nothing where it takes nothing. */
export function effectWords(effect: AddonEffect): string {
  const parts = [
    effect.gpu_count > 0 ? plural(effect.gpu_count, 'GPU') : '',
    effect.cpu_millis > 0 ? cpus(effect.cpu_millis) : '',
    effect.memory_mib > 0 ? `${mib(effect.memory_mib)} of memory` : '',
    effect.storage_mib > 0 ? `${mib(effect.storage_mib)} of storage` : '',
  ].filter(Boolean);
  return list(parts);
}

/** The price of an allocation stays what it is; an add-on takes a part of what is paid for. */
export function shareWords(effect: AddonEffect): string {
  if (!effect.share) return '';
  return `${money(effect.share.amount_micros, effect.share.currency)} per hour of the allocation's price`;
}

export function total(effects: AddonEffect[]): AddonEffect {
  const sum = (of: (one: AddonEffect) => number) => effects.reduce((all, one) => all + of(one), 0);
  const shares = effects.flatMap((one) => (one.share ? [one.share] : []));
  const currency = shares[0]?.currency;
  return {
    cpu_millis: sum((one) => one.cpu_millis),
    memory_mib: sum((one) => one.memory_mib),
    gpu_count: sum((one) => one.gpu_count),
    storage_mib: sum((one) => one.storage_mib),
    // Amounts of different currencies have no sum.
    share: currency !== undefined && shares.every((one) => one.currency === currency) ? { currency, amount_micros: shares.reduce((all, one) => all + one.amount_micros, 0) } : null,
  };
}

/** One sentence about all that were chosen. */
export function totalSentence(addons: FormAddon[]): string {
  const taken = addons.filter((one) => one.chosen);
  if (taken.length === 0) return 'No add-on is chosen.';
  const all = total(taken.map((one) => one.effect));
  const share = shareWords(all);
  return `${plural(taken.length, 'add-on is', 'add-ons are')} chosen, taking ${effectWords(all) || 'nothing'} of the allocation${share ? `: ${share}` : ''}.`;
}

function list(parts: string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
