/** Where to go after signing in. Whatever was handed to us, it is a page of ours or the home page. */
export function parseNext(text: string | null | undefined): string {
  if (!text || !text.startsWith('/') || hasOddCharacters(text)) return '/';
  let url: URL;
  try {
    url = new URL(text, 'http://shell.invalid');
  } catch {
    return '/';
  }
  if (url.host !== 'shell.invalid' || url.protocol !== 'http:' || url.pathname.startsWith('//')) return '/';
  if (/^\/(sign-in|api|auth|v2|apps|admin|assets)(\/|$)/.test(url.pathname)) return '/';
  return url.pathname + url.search + url.hash;
}

/** A backslash is a slash to a browser, and it drops tabs and line ends. */
function hasOddCharacters(text: string): boolean {
  return text.includes('\\') || Array.from(text).some((character) => character.charCodeAt(0) < 0x21);
}

/** The address of the sign-in page that comes back to `here`. */
export function signInAddress(here: string, problem?: string): string {
  const next = parseNext(here);
  const query = new URLSearchParams();
  if (next !== '/') query.set('next', next);
  if (problem) query.set('problem', problem);
  const text = query.toString();
  return text === '' ? '/sign-in' : `/sign-in?${text}`;
}
