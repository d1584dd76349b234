import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../api/client';
import { ApiError } from '../../api/error';
import { parseNext } from '../../session/next';
import { Button } from '../../ui/basics';
import { Field } from '../../ui/form';
import { useSearch } from '../../ui/search';

/** Why one is here, by a code; the words are ours, never the address's. */
const PROBLEMS: Record<string, string> = {
  invalid_link: 'That sign-in link was used already or has expired. Each works once and for 15 minutes: run ./run again for a new one, or sign in with your password.',
  session_expired: 'Your session has ended. Sign in again to go on where you were.',
  signed_out: 'You are signed out.',
};

export default function SignIn() {
  const [, navigate] = useLocation();
  const query = new URLSearchParams(useSearch());
  const next = parseNext(query.get('next'));
  const reason = PROBLEMS[query.get('problem') ?? ''];
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  useEffect(() => {
    document.title = 'Sign in · GPUaaS';
  }, []);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (busy) return;
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      await call('post', '/api/v1/auth/login', {
        body: { email: String(form.get('email')), password: String(form.get('password')) },
      });
      client.clear();
      navigate(next, { replace: true });
    } catch (refusal) {
      setError(refusal);
      setBusy(false);
    }
  };

  return (
    <main className="alone">
      <div className="sign-in card">
        <div className="brand large">
          <img src="/favicon.svg" alt="" width="36" height="36" />
          <span>GPUaaS</span>
        </div>
        <h1>Sign in</h1>
        {reason && (
          <p className="notice" role="status">
            {reason}
          </p>
        )}
        <form onSubmit={submit} noValidate>
          <Field label="E-mail">
            {(props) => <input {...props} name="email" type="email" autoComplete="username" required autoFocus />}
          </Field>
          <Field label="Password">
            {(props) => <input {...props} name="password" type="password" autoComplete="current-password" required />}
          </Field>
          {error !== null && (
            <p className="field-problem" role="alert">
              {error instanceof ApiError ? error.message : 'Signing in did not work; try again.'}
              {error instanceof ApiError && error.correlationId && (
                <span className="muted small block">
                  Code {error.code} · {error.correlationId}
                </span>
              )}
            </p>
          )}
          <Button variant="primary" type="submit" busy={busy}>
            Sign in
          </Button>
        </form>
        <p className="muted small">No account? Ask an admin of your tenant.</p>
      </div>
    </main>
  );
}
