import { useEffect, useId, useRef } from 'react';
import type { FormAddon, LaunchRequest } from '../../api/schema';
import { announce } from '../../ui/announce';
import { Tag } from '../../ui/basics';
import { words } from '../../ui/format';
import { chosenAddons, effectWords, shareWords, totalSentence } from './effects';

interface Props {
  addons: FormAddon[];
  wish: LaunchRequest;
  settled: boolean;
  setWish: (change: (wish: LaunchRequest) => LaunchRequest) => void;
}

/** Each is off until somebody chooses it, and says before what it takes (C-06, C-07). */
export function Addons({ addons, wish, settled, setWish }: Props) {
  const chosen = chosenAddons(addons, wish);
  const title = (name: string) => addons.find((one) => one.name === name)?.display_name ?? name;
  const sentence = totalSentence(addons);
  const before = useRef(sentence);
  useEffect(() => {
    if (!settled || before.current === sentence) return;
    before.current = sentence;
    announce(sentence);
  }, [sentence, settled]);
  const toggle = (name: string, on: boolean) => setWish((old) => ({ ...old, addons: on ? [...chosen, name] : chosen.filter((one) => one !== name) }));
  return (
    <>
      {addons.map((one) => (
        <Addon key={one.name} addon={one} title={title} on={chosen.includes(one.name)} toggle={(on) => toggle(one.name, on)} />
      ))}
      <p className={addons.some((one) => one.chosen) ? 'notice' : 'muted'}>{sentence}</p>
    </>
  );
}

interface AddonProps {
  addon: FormAddon;
  title: (name: string) => string;
  on: boolean;
  toggle: (on: boolean) => void;
}

function Addon({ addon, title, on, toggle }: AddonProps) {
  const about = useId();
  const brought = addon.required_by.length > 0;
  const effect = effectWords(addon.effect);
  const share = shareWords(addon.effect);
  // What does not fit can still be taken out.
  const off = brought || (!addon.fits && !on);
  return (
    <label className="choice">
      <input type="checkbox" checked={on || brought} disabled={off} aria-describedby={about} onChange={(event) => toggle(event.target.checked)} />
      <span>
        <span className="row">
          <strong>{addon.display_name}</strong>
          <Tag>{words(addon.kind)}</Tag>
        </span>
        <span id={about} className="stack tight">
          {addon.description && <span>{addon.description}</span>}
          <span className="hint warning">
            {effect ? `Takes ${effect} of the allocation` : 'Takes nothing of the allocation'}
            {share ? `: ${share}` : ''}.
          </span>
          {addon.requires.length > 0 && <span className="hint">Brings along: {addon.requires.map(title).join(', ')}.</span>}
          {brought && <span className="hint">Comes with {addon.required_by.map(title).join(', ')}.</span>}
          {addon.reasons.map((reason) => (
            <span key={reason.code + reason.message} className="field-problem">
              {reason.message}
            </span>
          ))}
        </span>
      </span>
    </label>
  );
}
