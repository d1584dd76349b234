// The running platform as tests meet it: its address, its first admin, and calls of the API past the browser.
import { execFile } from 'node:child_process';
import { X509Certificate, createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const data = process.env.GPUAAS_E2E_DATA ?? '';
const root = process.env.GPUAAS_E2E_ROOT ?? '';
if (!data || !root) throw new Error('run e2e/run: it starts the platform that these tests look at');

export const admin = JSON.parse(readFileSync(`${data}/admin.json`, 'utf8'));
export const url = admin.url;
/** Where browsers meet the platform; see `browser_url` in the server's configuration. */
export const portal = url.replace('127.0.0.1', 'portal.apps.localhost');
/** What every app's name ends with. */
export const appsHost = new URL(portal).host.replace(/^(portal\.)?(apps\.)?/, 'apps.');
const run = promisify(execFile);

/** Of the certificate that the platform shows, as Chromium's option takes it; none on plain HTTP. */
export function ownKey() {
  if (!url.startsWith('https:')) return null;
  const certificate = new X509Certificate(readFileSync(`${data}/ca/server.pem`));
  return createHash('sha256').update(certificate.publicKey.export({ type: 'spki', format: 'der' })).digest('base64');
}

/** ./run with these words for this platform. */
export async function runScript(...words) {
  const { stdout } = await run('./run', ['--data', data, ...words], { cwd: root, env: process.env });
  return stdout;
}

/** A new one-time sign-in address. */
export async function signInLink() {
  const { stdout } = await run(process.env.GPUAAS_E2E_SERVER, ['login-link', '--admin-file', `${data}/admin.json`], {
    env: { ...process.env, GPUAAS__DATA_DIR: data, GPUAAS__HTTP__PUBLIC_URL: url, GPUAAS__HTTP__LISTEN: new URL(url).host },
  });
  return stdout.trim();
}

let token = null;

async function signIn(email, password) {
  const login = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ email, password }),
  });
  if (!login.ok) throw new Error(`signing in: ${login.status} ${await login.text()}`);
  return login.headers.get('set-cookie').split(';')[0];
}

/** A call of the API as the first admin. */
export async function api(method, path, body) {
  if (token === null) {
    const cookie = await signIn(admin.email, admin.password);
    const made = await fetch(`${url}/api/v1/auth/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url, cookie },
      body: JSON.stringify({ name: 'browser tests' }),
    });
    token = (await made.json()).secret;
  }
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  if (response.headers.get('content-type') === 'application/x-ndjson') return text;
  return text === '' ? null : JSON.parse(text);
}

/** The demo project that ./run sets up. */
export async function demoProject() {
  const { items } = await api('GET', '/api/v1/projects?limit=200');
  return items.find((one) => one.slug === 'demo-lab');
}

/** A person with one role in one project, and their password. */
export async function person(name, role, projectId) {
  const email = `${name}@example.org`;
  const password = `correct horse ${name} staple`;
  await api('POST', '/api/v1/users', { email, password, display_name: name });
  await api('POST', `/api/v1/projects/${projectId}/bindings`, { role, email });
  return { email, password };
}

/** A role that sees a project and changes nothing. */
export async function lookingRole() {
  const permissions = ['projects.read', 'events.read', 'apps.instance.read', 'allocations.read'];
  const { items } = await api('GET', '/api/v1/roles?limit=200');
  if (!items.some((one) => one.slug === 'looker')) await api('POST', '/api/v1/roles', { slug: 'looker', permissions });
  return 'looker';
}

/** Another version of hello-web with the same image, as an author makes one. Whoever adds it withdraws it: the newest is the one that others get. */
export async function addVersion(version, changes) {
  const { manifest } = await api('GET', '/api/v1/apps/catalog/hello-web/versions/1.0.0');
  await api('POST', '/api/v1/admin/apps/manifests', { ...manifest, version, ...changes(manifest) });
  for (const to of ['staged', 'canary', 'active']) await moveVersion(version, to);
}

export async function moveVersion(version, to) {
  await api('POST', `/api/v1/admin/apps/catalog/hello-web/versions/${version}/move`, { to, reason: 'browser tests' });
}

/** Ends every instance of a project that a test may have left. */
export async function endInstances(projectId) {
  const { items } = await api('GET', `/api/v1/projects/${projectId}/app-instances?limit=200`);
  for (const one of items) {
    if (one.current_operation !== 'decommission') {
      await api('POST', `/api/v1/projects/${projectId}/app-instances/${one.id}/decommission`, {});
    }
  }
  await until(async () => (await api('GET', `/api/v1/projects/${projectId}/app-instances?limit=200`)).items.length === 0);
}

/** Asks again until it holds. */
export async function until(holds, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    if (await holds()) return;
    if (Date.now() > end) throw new Error(`not after ${seconds} s: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
