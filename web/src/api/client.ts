/**
 * One function for every call of the API, typed by the contract. It sends the session cookie by itself, an
 * `Idempotency-Key` with each change (so that trying again after a lost answer does nothing twice), and `If-Match` where
 * the caller knows a version.
 */
import { readError, unreachable } from './error';
import type { paths } from './schema';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Parameters<O, Where extends string> = O extends { parameters: infer A }
  ? Where extends keyof A
    ? NonNullable<A[Where]>
    : undefined
  : undefined;
type Body<O> = O extends { requestBody?: infer B }
  ? NonNullable<B> extends { content: { 'application/json': infer J } }
    ? J
    : undefined
  : undefined;
type Success<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 202)] : never;
type Answer<O> = Success<O> extends { content: { 'application/json': infer J } } ? J : void;

/** The paths that have this method. */
export type PathOf<M extends Method> = { [P in keyof paths]: Operation<P, M> extends { responses: unknown } ? P : never }[keyof paths];

export interface Wish<O> {
  path?: Parameters<O, 'path'>;
  query?: Parameters<O, 'query'>;
  body?: Body<O>;
  /** The version the caller has seen; the change is refused if there is a newer one. */
  version?: number | undefined;
  signal?: AbortSignal;
}

const TRIES_AFTER_SILENCE = 2;
const PAUSE_MS = 400;

let sessionEnded: () => void = () => {};

/** Who is told when the session is over. */
export function onSessionEnd(listener: () => void): void {
  sessionEnded = listener;
}

export function address(path: string, parameters: object = {}, query: object = {}): string {
  const given = parameters as Record<string, unknown>;
  const filled = path.replace(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(String(given[name] ?? '')));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? filled : `${filled}?${text}`;
}

/** `crypto.randomUUID` is missing where the page came over plain HTTP. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export async function call<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  wish: Wish<Operation<P, M>> = {},
): Promise<Answer<Operation<P, M>>> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (method !== 'get') headers['idempotency-key'] = newKey();
  if (wish.body !== undefined) headers['content-type'] = 'application/json';
  if (wish.version !== undefined) headers['if-match'] = `"${wish.version}"`;
  const request: RequestInit = { method: method.toUpperCase(), headers, credentials: 'same-origin' };
  if (wish.body !== undefined) request.body = JSON.stringify(wish.body);
  if (wish.signal) request.signal = wish.signal;
  const response = await send(address(path, wish.path, wish.query), request, method === 'get' ? 0 : TRIES_AFTER_SILENCE);
  if (response.status === 204) return undefined as Answer<Operation<P, M>>;
  return (await response.json()) as Answer<Operation<P, M>>;
}

/** A refusal becomes an `ApiError`; everything else is the response. */
export async function send(url: string, request: RequestInit, triesLeft = 0): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, request);
  } catch (error) {
    if (request.signal?.aborted) throw error;
    if (triesLeft === 0) throw unreachable();
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    return send(url, request, triesLeft - 1);
  }
  if (response.ok) return response;
  const error = readError(response.status, await response.text(), response.headers.get('x-correlation-id'));
  if (error.status === 401 && error.code !== 'invalid_credentials') sessionEnded();
  throw error;
}
