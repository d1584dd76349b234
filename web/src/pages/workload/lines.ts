/** Log lines from a stream of bytes: one JSON text per line, however the bytes are cut. */
export interface LogLine {
  component: string;
  stream: string;
  /** Microseconds since 1970. */
  at: number;
  line: string;
}

export class LineReader {
  private rest = '';

  push(text: string): LogLine[] {
    const parts = (this.rest + text).split('\n');
    this.rest = parts.pop() ?? '';
    return parts.map(parseLine).filter((line) => line !== null);
  }
}

function parseLine(text: string): LogLine | null {
  if (text.trim() === '') return null;
  try {
    const raw = JSON.parse(text) as Partial<LogLine> | null;
    if (typeof raw?.line !== 'string') return null;
    return { component: String(raw.component ?? ''), stream: String(raw.stream ?? 'stdout'), at: Number(raw.at ?? 0), line: raw.line };
  } catch {
    return null;
  }
}

/** Adds what is new; a stream that was taken up again starts with what was there already. */
export function append(lines: LogLine[], more: LogLine[], keep: number): LogLine[] {
  const last = lines[lines.length - 1];
  const fresh = last === undefined ? more : more.filter((line) => line.at > last.at || (line.at === last.at && !lines.slice(-50).some((old) => same(old, line))));
  if (fresh.length === 0) return lines;
  return [...lines, ...fresh].slice(-keep);
}

function same(a: LogLine, b: LogLine): boolean {
  return a.at === b.at && a.line === b.line && a.component === b.component && a.stream === b.stream;
}

/** The moment a stream is taken up again from. */
export function since(lines: LogLine[]): string | undefined {
  const last = lines[lines.length - 1];
  return last && last.at > 0 ? new Date(Math.floor(last.at / 1000)).toISOString() : undefined;
}

/** A line cut at each hit of the search, so that hits can be marked without building HTML. */
export function cut(line: string, search: string): { text: string; hit: boolean }[] {
  if (search === '') return [{ text: line, hit: false }];
  const parts: { text: string; hit: boolean }[] = [];
  const low = line.toLowerCase();
  const wanted = search.toLowerCase();
  let from = 0;
  for (let hit = low.indexOf(wanted); hit >= 0; hit = low.indexOf(wanted, from)) {
    if (hit > from) parts.push({ text: line.slice(from, hit), hit: false });
    parts.push({ text: line.slice(hit, hit + wanted.length), hit: true });
    from = hit + wanted.length;
  }
  if (from < line.length) parts.push({ text: line.slice(from), hit: false });
  return parts;
}
