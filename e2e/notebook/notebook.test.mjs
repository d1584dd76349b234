// JupyterLab as people use it: through the gateway, inside the shell, with everything a notebook needs. The platform must
// have the app `jupyterlab` and is restarted under the open notebook; tests/run/run brings one.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, signIn, withPage } from '../lib/browser.mjs';
import { api, demoProject, endInstances, runScript, until, url } from '../lib/platform.mjs';

const UPLOAD = 50 * 1024 * 1024;
const WITHIN = 60_000;
/** From the withdrawal to the closed socket; what the issue names. */
const CLOSED_WITHIN = 5_000;

let project;
let path;
before(async () => {
  project = await demoProject();
  path = `/api/v1/projects/${project.id}/app-instances`;
  await endInstances(project.id);
});
after(async () => {
  await closeBrowser();
  await endInstances(project.id);
});

/** The app's page inside the shell's frame, once JupyterLab has drawn itself. */
async function lab(page) {
  const frame = page.frameLocator('iframe');
  await frame.locator('.jp-Launcher, .jp-NotebookPanel').first().waitFor({ timeout: WITHIN });
  return frame;
}

/**
 * Types into the last cell and runs it. A notebook whose kernel is still connecting forgets what it was asked, and one that is
 * still being drawn what was typed, so both again.
 */
async function runCell(frame, text, expected) {
  const panel = frame.locator('.jp-NotebookPanel:not(.lm-mod-hidden)');
  const at = (await panel.locator('.jp-CodeCell').count()) - 1;
  const cell = panel.locator('.jp-CodeCell').nth(at);
  const typed = cell.locator('.cm-content');
  const output = cell.locator('.jp-OutputArea-output').filter({ hasText: expected });
  await until(async () => {
    if ((await typed.textContent()) !== text) await typed.fill(text);
    await typed.press('Control+Enter');
    return output.first().waitFor({ timeout: 3_000 }).then(() => true, () => false);
  }, 45);
}

/** A frame that scripts can be run in, found by its address. */
async function inside(page) {
  const found = () => page.frames().find((frame) => frame !== page.mainFrame() && frame.url().includes('.apps.localhost'));
  await until(async () => found() !== undefined);
  return found();
}

// P-01, P-05, J-03, J-05, J-07, G14: a stopwatch from the sign-in to an executed cell.
test('from sign-in to an executed cell in under a minute', { timeout: 180_000 }, async () => {
  await withPage({}, async (page) => {
    const began = Date.now();
    await signIn(page, undefined, '/catalog');
    await page.getByRole('link', { name: /JupyterLab/ }).first().click();
    await page.getByRole('button', { name: /Review|Plan/ }).first().click();
    await page.getByRole('button', { name: /^Launch/ }).first().click();
    await page.getByRole('link', { name: 'Open', exact: true }).click({ timeout: WITHIN });
    const frame = await lab(page);
    await frame.locator('.jp-LauncherCard[data-category="Notebook"]').first().click();
    await frame.locator('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell').first().waitFor({ timeout: 30_000 });
    await runCell(frame, '6*7', '42');
    assert.equal(await frame.getByText(/Jupyter news/).count(), 0, 'nothing asks to call elsewhere');
    const took = Date.now() - began;
    console.log(`sign-in to an executed cell: ${(took / 1000).toFixed(1)} s`);
    assert.ok(took < WITHIN, `${took} ms`);
  });
});

// G14: what a notebook needs works under the gateway's rules: terminal, 50 MB up and down.
test('a terminal, and fifty megabytes up and down', { timeout: 180_000 }, async () => {
  const [instance] = (await api('GET', `${path}?app=jupyterlab`)).items;
  await withPage({}, async (page) => {
    await signIn(page, undefined, `/workloads/instance/${instance.id}`);
    await page.getByRole('link', { name: 'Open', exact: true }).click();
    await lab(page);
    const app = await inside(page);
    const { sent, got, terminal } = await app.evaluate(async (size) => {
      const xsrf = /(?:^|; )_xsrf=([^;]+)/.exec(document.cookie)?.[1] ?? '';
      const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size; at += 65536) crypto.getRandomValues(bytes.subarray(at, Math.min(at + 65536, size)));
      const sent = hex(await crypto.subtle.digest('SHA-256', bytes));
      // As JupyterLab itself uploads: in pieces of base64.
      const piece = 1024 * 1024 * 3;
      for (let at = 0, chunk = 1; at < size; at += piece, chunk += 1) {
        const part = bytes.subarray(at, at + piece);
        let text = '';
        for (let i = 0; i < part.length; i += 8192) text += String.fromCharCode(...part.subarray(i, i + 8192));
        const body = { type: 'file', format: 'base64', content: btoa(text), chunk: at + piece >= size ? -1 : chunk, name: 'big.bin', path: 'big.bin' };
        const put = await fetch('/api/contents/big.bin', { method: 'PUT', headers: { 'X-XSRFToken': xsrf, 'content-type': 'application/json' }, body: JSON.stringify(body) });
        if (!put.ok) throw new Error(`upload: ${put.status} ${await put.text()}`);
      }
      const back = await fetch(`/files/big.bin?_xsrf=${encodeURIComponent(xsrf)}`);
      if (!back.ok) throw new Error(`download: ${back.status}`);
      const got = hex(await crypto.subtle.digest('SHA-256', await back.arrayBuffer()));
      const made = await fetch('/api/terminals', { method: 'POST', headers: { 'X-XSRFToken': xsrf } });
      if (!made.ok) throw new Error(`terminal: ${made.status} ${await made.text()}`);
      const { name } = await made.json();
      const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/terminals/websocket/${name}`);
      const terminal = await new Promise((resolve, reject) => {
        let seen = '';
        socket.onopen = () => socket.send(JSON.stringify(['stdin', 'echo $((6*7))-terminal\r']));
        socket.onmessage = (event) => {
          const [kind, text] = JSON.parse(event.data);
          if (kind === 'stdout') seen += text;
          if (seen.includes('42-terminal')) resolve(seen);
        };
        socket.onerror = () => reject(new Error('the terminal\'s socket failed'));
        setTimeout(() => reject(new Error(`the terminal said: ${seen}`)), 20_000);
      });
      socket.close();
      return { sent, got, terminal };
    }, UPLOAD);
    assert.equal(got, sent);
    assert.match(terminal, /42-terminal/);
  });
});

/** The app in a tab of its own, opened from its page in the shell. */
async function newTab(page, context, instance) {
  await signIn(page, undefined, `/workloads/instance/${instance.id}`);
  const opened = context.waitForEvent('page');
  await page.getByRole('button', { name: 'Open in a new tab' }).click();
  const tab = await opened;
  return tab;
}

/** Opens a kernel's socket by hand inside the app's own page and tells when it closes. */
async function kernelSocket(app) {
  await app.evaluate(async () => {
    const xsrf = /(?:^|; )_xsrf=([^;]+)/.exec(document.cookie)?.[1] ?? '';
    const made = await fetch('/api/kernels', { method: 'POST', headers: { 'X-XSRFToken': xsrf, 'content-type': 'application/json' }, body: '{}' });
    const { id } = await made.json();
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/api/kernels/${id}/channels`);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error('the kernel\'s socket failed'));
    });
    globalThis.closedAt = null;
    socket.onclose = () => { globalThis.closedAt = Date.now(); };
  });
}

async function closedAfter(app, since) {
  await until(async () => (await app.evaluate(() => globalThis.closedAt)) !== null);
  return (await app.evaluate(() => globalThis.closedAt)) - since;
}

// J-11, G13: the sign-out in one tab closes the kernel's socket in another.
test('a sign-out closes an open kernel socket', { timeout: 120_000 }, async () => {
  const [instance] = (await api('GET', `${path}?app=jupyterlab`)).items;
  await withPage({}, async (page, context) => {
    const tab = await newTab(page, context, instance);
    await tab.locator('.jp-Launcher, .jp-NotebookPanel').first().waitFor({ timeout: WITHIN });
    await kernelSocket(tab.mainFrame());
    const since = Date.now();
    await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST' }));
    const took = await closedAfter(tab.mainFrame(), since);
    console.log(`sign-out to a closed kernel socket: ${took} ms`);
    assert.ok(took <= CLOSED_WITHIN, `${took} ms`);
  });
});

// G14, T-15: the gateway goes away under an open notebook and comes back; the kernel is still there.
test('a kernel is found again after the server was restarted', { timeout: 180_000 }, async () => {
  const [instance] = (await api('GET', `${path}?app=jupyterlab`)).items;
  await withPage({}, async (page, context) => {
    const tab = await newTab(page, context, instance);
    const card = tab.locator('.jp-LauncherCard[data-category="Notebook"]').first();
    const cell = tab.locator('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell').first();
    await card.or(cell).first().waitFor({ timeout: WITHIN });
    if (await card.isVisible()) await card.click();
    await cell.waitFor({ timeout: WITHIN });
    await runCell(tab, 'kept = 40; print(kept)', '40');
    await runScript('--stop');
    await runScript('--detach', '--port', new URL(url).port);
    await until(async () => (await api('GET', `${path}/${instance.id}`)).status === 'running');
    await until(async () => (await tab.evaluate(() => fetch('/api/status').then((answer) => answer.status, () => 0))) === 200);
    await runCell(tab, 'kept + 2', '42');
  });
});

// J-03, G13: a stop closes it too, and the page says so.
test('a stop closes an open kernel socket', { timeout: 120_000 }, async () => {
  const [instance] = (await api('GET', `${path}?app=jupyterlab`)).items;
  await withPage({}, async (page, context) => {
    const tab = await newTab(page, context, instance);
    await tab.locator('.jp-Launcher, .jp-NotebookPanel').first().waitFor({ timeout: WITHIN });
    await kernelSocket(tab.mainFrame());
    const since = Date.now();
    await api('POST', `${path}/${instance.id}/stop`);
    const took = await closedAfter(tab.mainFrame(), since);
    console.log(`stop to a closed kernel socket: ${took} ms`);
    assert.ok(took <= CLOSED_WITHIN, `${took} ms`);
  });
});
