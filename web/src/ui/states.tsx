import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError, nodeReasons } from '../api/error';
import { clock } from './format';
import { Button, Copy } from './basics';

export function Loading({ what, lines = 3 }: { what: string; lines?: number }) {
  return (
    <div className="loading" role="status">
      <span className="sr-only">Loading {what}</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="bone" aria-hidden="true" />
      ))}
    </div>
  );
}

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children && <div>{children}</div>}
      {action && <div className="row center">{action}</div>}
    </div>
  );
}

/** What was refused and why, with what support needs to find it. */
export function Problem({ error, retry, title = 'This did not work' }: { error: unknown; retry?: () => void; title?: string }) {
  const known = error instanceof ApiError ? error : null;
  return (
    <div className="problem" role="alert">
      <p className="problem-title">{title}</p>
      <p>{known ? known.message : 'Something went wrong in this page. Reload it; if it stays, tell an admin.'}</p>
      {known && known.fields.length > 0 && (
        <ul>
          {known.fields.map((field) => (
            <li key={field.path + field.code}>
              <code>{field.path}</code> {field.message}
            </li>
          ))}
        </ul>
      )}
      {known && nodeReasons(known).length > 0 && (
        <ul>
          {nodeReasons(known).map((one) => (
            <li key={one.node + one.message}>
              <strong>{one.node}</strong>: {one.message}
            </li>
          ))}
        </ul>
      )}
      <p className="muted small">
        Code <code>{known?.code ?? 'page_error'}</code>
        {known?.correlationId && (
          <>
            {' · '}Correlation id <code>{known.correlationId}</code> <Copy text={known.correlationId} what="the correlation id" />
          </>
        )}
      </p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

interface ShowProps<T> {
  query: UseQueryResult<T>;
  what: string;
  lines?: number;
  isEmpty?: (data: T) => boolean;
  empty?: ReactNode;
  children: (data: T) => ReactNode;
}

/** The four states of anything that is fetched: on its way, refused, nothing there, and there (perhaps of a while ago). */
export function Show<T>({ query, what, lines, isEmpty, empty, children }: ShowProps<T>) {
  if (query.data === undefined) {
    if (query.isError) return <Problem error={query.error} retry={() => void query.refetch()} title={`Could not load ${what}`} />;
    return <Loading what={what} lines={lines ?? 3} />;
  }
  return (
    <>
      {query.isError && (
        <p className="stale" role="status">
          Shown as of {clock(query.dataUpdatedAt)}; refreshing {what} does not work at the moment
          {query.error instanceof ApiError ? ` (${query.error.code})` : ''}.{' '}
          <button type="button" className="link" onClick={() => void query.refetch()}>
            Try again
          </button>
        </p>
      )}
      {isEmpty?.(query.data) ? empty : children(query.data)}
    </>
  );
}
