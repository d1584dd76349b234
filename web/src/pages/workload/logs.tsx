import { useEffect, useId, useMemo, useRef, useState } from 'react';
import { address, send } from '../../api/client';
import { ApiError } from '../../api/error';
import type { InstanceDetail } from '../../api/schema';
import { Button } from '../../ui/basics';
import { plural } from '../../ui/format';
import { Empty, Problem } from '../../ui/states';
import { append, cut, LineReader, type LogLine, since } from './lines';

const KEEP = 5000;
const FIRST_LINES = 500;
const AGAIN_MS = 2000;

/** Reads the log for as long as it is looked at, and takes the stream up again where it broke. */
function useLog(instance: InstanceDetail, component: string) {
  const [lines, setLines] = useState<LogLine[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [connected, setConnected] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const latest = useRef<LogLine[]>([]);
  const { project_id, id } = instance;
  // A start makes new containers with a log of their own.
  const generation = instance.desired_generation;
  useEffect(() => {
    latest.current = [];
    setLines([]);
  }, [project_id, id, component, generation]);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      const from = since(latest.current);
      const query = { follow: true, component, ...(from ? { since: from } : { tail: FIRST_LINES }) };
      const url = address('/api/v1/projects/{project_id}/app-instances/{app_instance_id}/logs', { project_id, app_instance_id: id }, query);
      const response = await send(url, { signal: stop.signal, credentials: 'same-origin' });
      setConnected(true);
      setError(null);
      const bytes = response.body?.getReader();
      const text = new TextDecoder();
      const reader = new LineReader();
      for (let piece = await bytes?.read(); piece && !piece.done; piece = await bytes?.read()) {
        latest.current = append(latest.current, reader.push(text.decode(piece.value, { stream: true })), KEEP);
        setLines(latest.current);
      }
    };
    read()
      .catch((refusal: unknown) => {
        if (!stop.signal.aborted) setError(refusal);
      })
      .finally(() => {
        if (stop.signal.aborted) return;
        setConnected(false);
        timer = setTimeout(() => setAttempt((count) => count + 1), AGAIN_MS);
      });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [project_id, id, component, generation, attempt]);
  return { lines, error, connected };
}

export function Logs({ instance }: { instance: InstanceDetail }) {
  const ids = useId();
  const names = instance.components.map((one) => one.name);
  const [component, setComponent] = useState('');
  const [search, setSearch] = useState('');
  const [follow, setFollow] = useState(true);
  const { lines, error, connected } = useLog(instance, component);
  const box = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => {
    const wanted = search.toLowerCase();
    return wanted === '' ? lines : lines.filter((line) => line.line.toLowerCase().includes(wanted));
  }, [lines, search]);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown, follow]);
  // What is only not there for the moment (it has not started, it was stopped) is no error to shout about.
  const quiet = error instanceof ApiError && (error.status === 409 || error.isPassing);
  return (
    <div className="stack">
      <div className="filters">
        <label htmlFor={`${ids}s`}>Search</label>
        <input id={`${ids}s`} type="search" value={search} onChange={(event) => setSearch(event.target.value)} />
        {names.length > 1 && (
          <>
            <label htmlFor={`${ids}c`}>Component</label>
            <select id={`${ids}c`} value={component} onChange={(event) => setComponent(event.target.value)}>
              <option value="">All</option>
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </>
        )}
        <label className="check">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} /> Follow
        </label>
        <span className="muted small" role="status">
          {search ? `${plural(shown.length, 'line')} of ${lines.length}` : plural(lines.length, 'line')}
          {connected ? ', live' : ', waiting'}
        </span>
      </div>
      {error !== null && !quiet && <Problem error={error} title="The log cannot be read" />}
      {lines.length === 0 ? (
        <Empty title="No log lines yet">{quiet && error instanceof ApiError ? error.message : 'They appear here as the app writes them.'}</Empty>
      ) : (
        <div
          ref={box}
          className="log"
          role="region"
          aria-label="Log"
          tabIndex={0}
          onWheel={(event) => event.deltaY < 0 && setFollow(false)}
          onKeyDown={(event) => ['PageUp', 'ArrowUp', 'Home'].includes(event.key) && setFollow(false)}
        >
          {shown.map((line, index) => (
            <div key={`${line.at}-${index}`} className={line.stream === 'stderr' ? 'err' : undefined}>
              <span className="log-time">{line.at > 0 ? new Date(line.at / 1000).toLocaleTimeString() : ''}</span>
              {names.length > 1 && component === '' && <span className="log-time">{line.component}</span>}
              <span>{cut(line.line, search).map((part, at) => (part.hit ? <mark key={at}>{part.text}</mark> : part.text))}</span>
            </div>
          ))}
        </div>
      )}
      {!follow && lines.length > 0 && (
        <div className="row center">
          <Button onClick={() => setFollow(true)}>Go to the newest line</Button>
        </div>
      )}
    </div>
  );
}
