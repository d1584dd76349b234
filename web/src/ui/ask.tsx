import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from './basics';
import { Modal } from './dialog';
import { Problem } from './states';

interface Props {
  title: string;
  about?: ReactNode;
  verb: string;
  onClose: () => void;
  act: (form: FormData) => Promise<unknown>;
  children: (error: unknown) => ReactNode;
}

/** A dialog with a small form. What is refused is shown in it; what works closes it. */
export function Ask({ title, about, verb, onClose, act, children }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    // The dialog may have been opened inside another form, which React would tell of this one's submission.
    event.stopPropagation();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await act(new FormData(event.currentTarget));
      onClose();
    } catch (refusal) {
      setError(refusal);
      setBusy(false);
    }
  };
  return (
    <Modal open onClose={onClose} title={title} about={about}>
      <form onSubmit={submit} noValidate>
        {children(error)}
        {error !== null && <Problem error={error} />}
        <div className="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy}>
            {verb}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
