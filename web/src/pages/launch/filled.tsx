import { useEffect, useState } from 'react';
import type { AppForm, LaunchRequest } from '../../api/schema';
import { announce } from '../../ui/announce';
import { Button } from '../../ui/basics';
import { plural } from '../../ui/format';
import { type Fill, fillIn, type Taken } from './fill';

export interface Filled {
  /** In the words of a sentence; nothing has been filled in without it. */
  from: string | null;
  taken: Taken[];
  told: string[];
}

const NOTHING: Filled = { from: null, taken: [], told: [] };

interface Filling {
  filled: Filled;
  /** Counts what was filled in, for fields that keep a text of their own. */
  round: number;
  busy: boolean;
  start: (fill: Fill) => void;
  forget: () => void;
}

/** Takes a link or a preset into the form, one answer of the server at a time. */
export function useFilling(first: Fill | null, problems: string[], form: AppForm | undefined, settled: boolean, wish: LaunchRequest, setWish: (wish: LaunchRequest) => void): Filling {
  const [waiting, setWaiting] = useState(first);
  const [filled, setFilled] = useState<Filled>({ ...NOTHING, told: problems });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!waiting || !form || !settled) return;
    const step = fillIn(waiting, form, wish);
    setWaiting(step.rest);
    setWish(step.wish);
    setRound((before) => before + 1);
    setFilled((before) => ({ from: waiting.from, taken: [...before.taken, ...step.taken], told: [...before.told, ...step.told] }));
  }, [waiting, form, settled, wish, setWish]);
  const sentence = waiting === null ? summary(filled) : '';
  useEffect(() => {
    if (sentence !== '') announce(sentence);
  }, [sentence]);
  return {
    filled,
    round,
    busy: waiting !== null,
    start: (fill) => {
      setFilled(NOTHING);
      setWaiting(fill);
    },
    forget: () => {
      setWaiting(null);
      setFilled(NOTHING);
      setRound((before) => before + 1);
    },
  };
}

function summary({ from, taken, told }: Filled): string {
  const parts = [
    taken.length > 0 ? `${plural(taken.length, 'choice was', 'choices were')} filled in from ${from}. Nothing has started.` : '',
    told.length > 0 ? `Not taken: ${told.length}.` : '',
  ];
  return parts.filter(Boolean).join(' ');
}

const MOST_SHOWN = 20;

/** Who did not fill in the form themselves has to see what is in it, and what is not. */
export function FilledNotice({ filled, onClear }: { filled: Filled; onClear: () => void }) {
  const { from, taken, told } = filled;
  if (taken.length === 0 && told.length === 0) return null;
  return (
    <section className="notice info stack" aria-label="Filled in for you">
      {taken.length > 0 && (
        <>
          <p>
            <strong>This form was filled in from {from}.</strong> Nothing has started: look at it before you launch.
          </p>
          <dl className="plan">
            {taken.map((one) => (
              <div key={one.name}>
                <dt>{one.name}</dt>
                <dd>{one.text === '' ? <span className="muted">empty</span> : one.text}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {told.length > 0 && (
        <>
          <p>
            <strong>Not taken:</strong>
          </p>
          <ul className="plain-list">
            {told.slice(0, MOST_SHOWN).map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
            {told.length > MOST_SHOWN && <li>and {told.length - MOST_SHOWN} more</li>}
          </ul>
        </>
      )}
      <div className="row">
        <Button onClick={onClear}>{taken.length > 0 ? 'Start afresh' : 'Close'}</Button>
      </div>
    </section>
  );
}
