import type { UseQueryResult } from '@tanstack/react-query';
import type { TimelineEntry } from '../../api/schema';
import { moment, words } from '../../ui/format';
import { Empty, Show } from '../../ui/states';
import { describe } from './progress';

export function Timeline({ query }: { query: UseQueryResult<TimelineEntry[]> }) {
  return (
    <Show query={query} what="the timeline" isEmpty={(list) => list.length === 0} empty={<Empty title="Nothing has happened yet" />}>
      {(list) => (
        <ol className="timeline" aria-label="Timeline, newest first">
          {list.toReversed().map((entry) => (
            <li key={entry.id}>
              <time dateTime={entry.occurred_at} className="muted small">
                {moment(entry.occurred_at)}
              </time>
              <span>
                <strong>{words(entry.event_type)}</strong>
                <span className="muted small block">{describe(entry)}</span>
              </span>
            </li>
          ))}
        </ol>
      )}
    </Show>
  );
}
