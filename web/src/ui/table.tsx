import type { ReactNode } from 'react';

export interface Column<T> {
  title: string;
  cell: (row: T) => ReactNode;
  /** Only for those who cannot see the column, such as one of buttons. */
  quiet?: boolean;
}

/** A table that becomes a list of cards where there is no room. */
export function Table<T>({ rows, columns, id, label }: { rows: T[]; columns: Column<T>[]; id: (row: T) => string; label: string }) {
  return (
    <table className="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col">
              {column.quiet ? <span className="sr-only">{column.title}</span> : column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={id(row)}>
            {columns.map((column) => (
              <td key={column.title} data-title={column.quiet ? undefined : column.title}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function More({ query }: { query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown } }) {
  if (!query.hasNextPage) return null;
  return (
    <div className="row center">
      <button type="button" className="button plain" aria-busy={query.isFetchingNextPage || undefined} onClick={() => void query.fetchNextPage()}>
        {query.isFetchingNextPage ? 'Loading…' : 'Show more'}
      </button>
    </div>
  );
}
