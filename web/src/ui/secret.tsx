import type { ReactNode } from 'react';
import { Button, Copy } from './basics';
import { Modal } from './dialog';

interface Props {
  title: string;
  secret: string;
  about: string;
  onClose: () => void;
  /** How it is used. */
  children?: ReactNode;
}

/** Something that is shown this once. It is gone from the page when the dialog is closed. */
export function ShownOnce({ title, secret, about, onClose, children }: Props) {
  return (
    <Modal open onClose={onClose} title={title} about={about}>
      <div className="command">
        <pre tabIndex={0} aria-label="The secret">
          {secret}
        </pre>
        <Copy text={secret} what="the secret" />
      </div>
      {children}
      <div className="row end">
        <Button variant="primary" onClick={onClose}>
          I have kept it
        </Button>
      </div>
    </Modal>
  );
}
