/** The one shape of a refusal. Pages decide by `code`, never by the words. */
export interface FieldProblem {
  path: string;
  code: string;
  message: string;
}

export class ApiError extends Error {
  override name = 'ApiError';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly correlationId: string | null = null,
    readonly params: Record<string, unknown> = {},
    readonly fields: FieldProblem[] = [],
  ) {
    super(message);
  }

  /** Whether asking again later may work by itself. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Nobody answered: no network, or the server is being restarted. */
export function unreachable(): ApiError {
  return new ApiError(0, 'unreachable', 'The platform does not answer. It may be restarting; this page keeps trying.');
}

/** From what came back. Something that is no envelope (a proxy's own page, say) still gets a code and a sentence. */
export function readError(status: number, text: string, correlationId: string | null): ApiError {
  const detail = envelope(text);
  if (detail === null) {
    const sentence = `Something between this page and the platform answered with status ${status}.`;
    return new ApiError(status, 'unreadable_answer', sentence, correlationId);
  }
  const fields = Array.isArray(detail.fields) ? detail.fields.filter(isField) : [];
  const params = isRecord(detail.params) ? detail.params : {};
  const correlation = typeof detail.correlation_id === 'string' ? detail.correlation_id : correlationId;
  return new ApiError(status, detail.code, detail.message, correlation, params, fields);
}

function envelope(text: string): { code: string; message: string; [key: string]: unknown } | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  const error = isRecord(parsed) ? parsed.error : null;
  if (!isRecord(error) || typeof error.code !== 'string' || typeof error.message !== 'string') return null;
  return error as { code: string; message: string };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isField(value: unknown): value is FieldProblem {
  return isRecord(value) && typeof value.path === 'string' && typeof value.message === 'string';
}

/** The problems of one field of a form, by its JSON pointer. */
export function fieldProblem(error: unknown, path: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const found = error.fields.filter((field) => field.path === path);
  return found.length > 0 ? found.map((field) => field.message).join(' ') : undefined;
}

/** What stands against each node, where a refusal lists nodes. */
export function nodeReasons(error: ApiError): { node: string; message: string }[] {
  const nodes = error.params.nodes;
  if (!Array.isArray(nodes)) return [];
  return nodes.filter((one): one is { node: string; message: string } => isRecord(one) && typeof one.node === 'string' && typeof one.message === 'string');
}
