import { type InputHTMLAttributes, useState } from 'react';
import { type Limits, typed } from './typed';

interface Props extends Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange' | 'onBlur' | 'type'> {
  /** What holds now, be it chosen or the default. */
  value: number | undefined;
  limits?: Limits;
  /** Nothing means the default. */
  choose: (value: number | undefined) => void;
}

/** A field for a number. While one types, it holds what was typed: what holds instead is filled in when one leaves it. */
export function NumberInput({ value, limits, choose, ...rest }: Props) {
  const [text, setText] = useState<string | null>(null);
  const shown = value === undefined ? '' : String(value);
  return (
    <input
      placeholder={shown}
      {...rest}
      type="number"
      value={text ?? shown}
      onChange={(event) => {
        setText(event.target.value);
        choose(typed(event.target.value, limits));
      }}
      onBlur={() => setText(null)}
    />
  );
}
