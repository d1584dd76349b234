import { useEffect, useState } from 'react';
import { call } from '../../api/client';
import { openEndpoint } from '../../api/endpoints';
import { ApiError } from '../../api/error';
import type { EndpointPlace } from '../../api/schema';
import { LinkButton, Page } from '../../ui/basics';
import { useSearch } from '../../ui/search';
import { Empty, Loading, Problem } from '../../ui/states';

/** Where the gateway sends people who have no session with an app: finds the app, opens it, and goes there. */
export default function Open({ label }: { label: string }) {
  const next = new URLSearchParams(useSearch()).get('next');
  const [found, setFound] = useState<EndpointPlace | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setError(null);
    const go = async () => {
      const place = await call('get', '/api/v1/app-endpoints/{label}', { path: { label }, signal: stop.signal });
      setFound(place);
      const url = await openEndpoint(place, next?.startsWith('/') ? next : undefined);
      if (!stop.signal.aborted) location.replace(url);
    };
    go().catch((refusal: unknown) => !stop.signal.aborted && setError(refusal));
    return () => stop.abort();
  }, [label, next, attempt]);
  const missing = error instanceof ApiError && error.status === 404;
  const forbidden = error instanceof ApiError && error.status === 403;
  return (
    <Page title={found ? `Opening ${found.instance_name}` : 'Opening the app'}>
      {error === null && <Loading what="the app" />}
      {missing && (
        <Empty title="There is no such app, or it is not yours to open" action={<LinkButton href="/workloads">Your workloads</LinkButton>}>
          It may have been ended, or it belongs to a project you have no role in.
        </Empty>
      )}
      {forbidden && (
        <Empty title="Your role does not let you open this app" action={<LinkButton href="/workloads">Your workloads</LinkButton>}>
          Ask an admin of the project for a role that may open apps.
        </Empty>
      )}
      {error !== null && !missing && !forbidden && <Problem error={error} title="The app could not be opened" retry={() => setAttempt(attempt + 1)} />}
      {error !== null && found && (
        <p>
          <LinkButton href={`/workloads/instance/${found.app_instance_id}`}>Look at {found.instance_name}</LinkButton>
        </p>
      )}
    </Page>
  );
}
