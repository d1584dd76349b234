import { type ButtonHTMLAttributes, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Link } from 'wouter';
import { announce } from './announce';
import { shortId } from './format';

type Variant = 'primary' | 'plain' | 'danger' | 'quiet';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  variant?: Variant;
  busy?: boolean;
  /** Why it cannot be used now. It stays reachable, so that everybody can learn why. */
  reason?: string | undefined;
}

export function Button({ variant = 'plain', busy = false, reason, children, onClick, type = 'button', ...rest }: ButtonProps) {
  const about = useId();
  const off = busy || reason !== undefined;
  return (
    <>
      <button
        {...rest}
        type={type}
        className={`button ${variant} ${rest.className ?? ''}`}
        aria-disabled={off || undefined}
        aria-busy={busy || undefined}
        aria-describedby={reason ? about : rest['aria-describedby']}
        title={reason ?? rest.title}
        onClick={(event) => {
          if (off) event.preventDefault();
          else onClick?.(event);
        }}
      >
        {busy && <span className="spinner" aria-hidden="true" />}
        {children}
      </button>
      {reason && (
        <span id={about} className="sr-only">
          {reason}
        </span>
      )}
    </>
  );
}

export function LinkButton({ href, variant = 'plain', children }: { href: string; variant?: Variant; children: ReactNode }) {
  return (
    <Link href={href} className={`button ${variant}`}>
      {children}
    </Link>
  );
}

export type Tone = 'neutral' | 'good' | 'busy' | 'warn' | 'bad';

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={`badge ${tone}`}>
      <span className="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

export function Tag({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <span className="tag" title={title}>
      {children}
    </span>
  );
}

/** Made-up hardware is called so wherever it is shown. */
export function Simulated({ when }: { when: boolean | undefined }) {
  return when ? <Tag title="This hardware is made up for trying things out">simulated</Tag> : null;
}

export function Copy({ text, what, label = 'Copy', variant = 'quiet' }: { text: string; what: string; label?: string; variant?: 'quiet' | 'plain' }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 2000);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      announce(`Copied: ${what}`);
    } catch {
      announce('The browser did not allow copying; select the text instead.');
    }
  };
  return (
    <button type="button" className={`button ${variant === 'quiet' ? 'quiet small' : variant}`} onClick={copy} aria-label={`Copy ${what}`}>
      {done ? 'Copied' : label}
    </button>
  );
}

export function CommandLine({ command, what = 'the command' }: { command: string; what?: string }) {
  return (
    <div className="command">
      <pre tabIndex={0} aria-label={what}>
        <code>{command}</code>
      </pre>
      <Copy text={command} what={what} />
    </div>
  );
}

/** A digest or the like: the start of it, the rest on demand. */
export function Short({ text, what }: { text: string; what: string }) {
  const body = text.startsWith('sha256:') ? text.slice(7) : text;
  return (
    <span className="short">
      <code title={text}>{body.slice(0, 12)}</code>
      <Copy text={text} what={what} />
    </span>
  );
}

/** An id, short enough to read and long enough to tell apart. */
export function Id({ text, what }: { text: string; what: string }) {
  return (
    <span className="short">
      <code title={text}>{shortId(text)}</code>
      <Copy text={text} what={what} />
    </span>
  );
}

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="facts">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function Card({ title, actions, children, className = '' }: { title?: ReactNode; actions?: ReactNode; children: ReactNode; className?: string }) {
  const id = useId();
  return (
    <section className={`card ${className}`} aria-labelledby={title ? id : undefined}>
      {(title || actions) && (
        <header>
          {title && <h2 id={id}>{title}</h2>}
          {actions && <div className="row">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

interface PageProps {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  back?: { href: string; text: string };
  children: ReactNode;
}

/** The frame of every view: one first heading, which gets the focus when one comes here from another view. */
export function Page({ title, lead, actions, back, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · GPUaaS`;
  }, [title]);
  useEffect(() => {
    if (visited > 0) heading.current?.focus();
    visited += 1;
  }, []);
  return (
    <div className="page">
      {back && (
        <Link href={back.href} className="back">
          <span aria-hidden="true">← </span>
          {back.text}
        </Link>
      )}
      <div className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <div className="lead">{lead}</div>}
        </div>
        {actions && <div className="row">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** How many views were shown: the first keeps the focus where the browser puts it. */
let visited = 0;
