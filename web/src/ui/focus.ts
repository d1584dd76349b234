/** Where the focus was before a dialog took it, so that it can go back there. */
let before: HTMLElement | null = null;

const IN_DIALOG = '[role=dialog]';

export function rememberFocus(): void {
  const active = document.activeElement;
  // A dialog that follows on another goes back to where the first one came from.
  if (!(active instanceof HTMLElement) || active.closest(IN_DIALOG)) return;
  // An entry of a menu is gone by then; the button that opened the menu is not.
  const opener = active.closest('[role=menu]')?.getAttribute('aria-labelledby');
  before = (opener && document.getElementById(opener)) || active;
}

export function returnFocus(): void {
  if (document.querySelector(IN_DIALOG)) return;
  if (before?.isConnected && before !== document.body) before.focus();
  else focusHeading();
  before = null;
}

/** Where the focus belongs when what had it is gone. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus();
}
