import * as Dialog from '@radix-ui/react-dialog';
import { type ReactNode, useLayoutEffect, useState } from 'react';
import { ApiError } from '../api/error';
import { Button } from './basics';
import { rememberFocus, returnFocus } from './focus';
import { Problem } from './states';

interface ModalProps {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  children: ReactNode;
}

/**
 * A dialog that holds the focus. Radix's own overlay is left out: it locks scrolling with a style element, which the
 * page's policy refuses; ours is the backdrop of the content.
 */
export function Modal({ open, onClose, title, about, children }: ModalProps) {
  useLayoutEffect(() => {
    if (open) rememberFocus();
  }, [open]);
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <div className="backdrop" aria-hidden="true" />
        <Dialog.Content
          className="modal"
          {...(about ? {} : { 'aria-describedby': undefined })}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            returnFocus();
          }}
        >
          <Dialog.Title>{title}</Dialog.Title>
          {about && (
            <Dialog.Description asChild>
              <div className="about">{about}</div>
            </Dialog.Description>
          )}
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  about: ReactNode;
  verb: string;
  danger?: boolean;
  act: () => Promise<unknown>;
  children?: ReactNode;
}

/** Asks before something is done, and says what came of it. */
export function Confirm({ open, onClose, title, about, verb, danger = false, act, children }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const close = () => {
    setError(null);
    onClose();
  };
  const go = async () => {
    setBusy(true);
    setError(null);
    try {
      await act();
      close();
    } catch (refusal) {
      setError(refusal instanceof ApiError ? refusal : new Error(String(refusal)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal open={open} onClose={close} title={title} about={about}>
      {children}
      {error !== null && <Problem error={error} />}
      <div className="row end">
        <Button onClick={close}>Cancel</Button>
        <Button variant={danger ? 'danger' : 'primary'} busy={busy} onClick={go}>
          {verb}
        </Button>
      </div>
    </Modal>
  );
}
