import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { closeBrowser, heading, hindrances, scrollsSideways, signIn, withPage } from './lib/browser.mjs';
import { api, demoProject, lookingRole, person, url } from './lib/platform.mjs';

let project;
before(async () => {
  project = await demoProject();
});
after(closeBrowser);

const PAGES = [
  ['/', /^Hello/],
  ['/catalog', 'Catalog'],
  ['/launch/hello-web', 'Launch Hello web'],
  ['/workloads', 'Workloads'],
  ['/allocations', 'Allocations'],
  ['/artifacts', 'Artifacts'],
  ['/entitlements', 'Entitlements'],
  ['/service-accounts', 'Service accounts'],
  ['/audit', 'Audit'],
  ['/nodes', 'Nodes'],
  ['/tokens', 'Personal tokens'],
  ['/open/nobody-has-this-label', 'Opening the app'],
  ['/no-such-page', 'No such page'],
];

// One visit per page: in the light, in the dark (where only colours differ), and on a phone.
test('every page can be used by everybody: light, dark, phone', async () => {
  await withPage({ colorScheme: 'light' }, async (page) => {
    const look = async (path) => {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.emulateMedia({ colorScheme: 'light' });
      assert.deepEqual(await hindrances(page), [], `${path}, light`);
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.deepEqual(await hindrances(page, ['color-contrast']), [], `${path}, dark`);
      await page.setViewportSize({ width: 360, height: 740 });
      assert.equal(await scrollsSideways(page), false, `${path} is wider than a phone`);
      // Here only the frame differs, so one of them says enough.
      if (path === '/workloads') assert.deepEqual(await hindrances(page), [], `${path}, phone`);
    };
    await page.goto('/sign-in');
    await heading(page, 'Sign in').waitFor();
    await look('/sign-in');
    await signIn(page);
    for (const [path, title] of PAGES) {
      await page.goto(path);
      await heading(page, title).waitFor();
      // Until nothing is on its way any more.
      await page.getByText(/^Loading/).first().waitFor({ state: 'detached' });
      await look(path);
    }
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Nodes' }).click();
    await heading(page, 'Nodes').waitFor();
  });
});

test('the first load is at most 300 kB packed, and its policy is strict', async () => {
  const dist = `${process.env.GPUAAS_E2E_ROOT}/web/dist`;
  const index = readFileSync(`${dist}/index.html`, 'utf8');
  const files = [...index.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1]);
  const size = ['/index.html', ...files].reduce((sum, file) => sum + statSync(`${dist}${file}.gz`).size, 0);
  assert.ok(size <= 300_000, `${size} bytes`);
  assert.ok(readdirSync(`${dist}/assets`).length > 4, 'rarely used pages are apart');
  const response = await fetch(`${url}/catalog`, { headers: { accept: 'text/html' } });
  const policy = response.headers.get('content-security-policy');
  assert.ok(!policy.includes('unsafe') && policy.includes("script-src 'self';") && policy.includes("frame-ancestors 'none'"), policy);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  const asset = await fetch(url + files.find((file) => file.endsWith('.js')), { headers: { 'accept-encoding': 'gzip' } });
  assert.match(asset.headers.get('cache-control'), /immutable/);
  assert.equal(asset.headers.get('content-encoding'), 'gzip');
});

// E-03, P-07: the catalog page shows what the project is entitled to; an admin changes that where entitlements are.
test('a project without entitlements has an empty catalog that says whom to ask', async () => {
  const empty = await api('POST', `/api/v1/tenants/${project.tenant_id}/projects`, { slug: 'empty-lab', display_name: 'Empty lab' });
  const viewer = await person('vera', await lookingRole(), empty.id);
  await withPage({}, async (page) => {
    await signIn(page, viewer, '/catalog');
    await page.getByText('This project may not launch any app yet').waitFor();
    await page.getByText('Ask an admin').waitFor();
  });
  await withPage({}, async (page) => {
    await signIn(page);
    await page.getByRole('button', { name: /^Project: / }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitemradio', { name: /^Empty lab/ }).click();
    await page.getByRole('button', { name: /^Project: Empty lab/ }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: /^Project: Empty lab/ }).waitFor();
    await page.goto('/catalog');
    await page.getByText('This project may not launch any app yet').waitFor();
    await page.goto('/entitlements');
    await page.getByRole('button', { name: 'Allow Hello web' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Allow it' }).click();
    await page.getByRole('button', { name: 'Disallow Hello web' }).waitFor();
    await page.goto('/catalog');
    await page.getByRole('link', { name: 'Launch Hello web' }).waitFor();
  });
});

// P-06: what somebody may not do is not offered, and the address alone does not help.
test('a viewer looks and does not touch', async () => {
  const viewer = await person('victor', await lookingRole(), project.id);
  await withPage({}, async (page) => {
    await signIn(page, viewer);
    await heading(page, /^Hello/).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Launch an app' }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Nodes' }).count(), 0);
    await page.goto('/catalog');
    await page.getByText('Your role does not let you launch.').first().waitFor();
    await page.goto('/launch/hello-web');
    await page.getByText('Your role does not let you launch apps in this project').waitFor();
    await page.goto('/nodes');
    await page.getByRole('alert').filter({ hasText: 'Code' }).waitFor();
    assert.deepEqual(await hindrances(page), []);
  });
});

test('an allocation is requested; a refusal says why, an operator decides', async () => {
  const size = { shape: 'gpu_slice', gpu_count: 1, vcpu: 2, memory_mib: 1024 };
  await api('POST', '/api/v1/skus', { slug: 'on-request', display_name: 'On request', grant_policy: 'admin', ...size });
  await withPage({}, async (page) => {
    await signIn(page, undefined, '/allocations');
    await page.getByRole('button', { name: 'Request an allocation' }).click();
    await page.getByRole('radio', { name: /^One GPU of this machine/ }).check();
    await page.getByLabel('Name').fill('too-much');
    await page.getByRole('button', { name: 'Request it' }).click();
    await page.getByRole('alert').filter({ hasText: 'no_capacity' }).getByText('local').first().waitFor();
    await page.getByRole('radio', { name: /^On request/ }).check();
    await page.getByLabel('Name').fill('second');
    await page.getByRole('button', { name: 'Request it' }).click();
    await page.getByRole('row', { name: /^second requested/ }).waitFor();
    await page.getByRole('button', { name: 'Turn down second' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Turn it down' }).click();
    await page.getByRole('row', { name: /^second released/ }).waitFor();
  });
});

test('a token is shown once and can be revoked, and so is the key of a service account', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, '/tokens');
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Name').fill('laptop');
    await page.getByRole('button', { name: 'Make it' }).click();
    const secret = await page.getByLabel('The secret', { exact: true }).textContent();
    assert.match(secret, /^gpu/);
    assert.deepEqual(await hindrances(page), []);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    assert.equal(await page.getByText(secret).count(), 0);
    await page.getByRole('button', { name: 'Revoke laptop' }).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByRole('button', { name: 'Revoke laptop' }).waitFor({ state: 'detached' });
    const refused = await fetch(`${url}/api/v1/auth/whoami`, { headers: { authorization: `Bearer ${secret.trim()}` } });
    assert.equal(refused.status, 401);

    await page.goto('/service-accounts');
    await page.getByRole('button', { name: 'New service account' }).click();
    await page.getByLabel('Name').fill('pipeline');
    await page.getByRole('button', { name: 'Make it' }).click();
    assert.match(await page.getByLabel('The secret', { exact: true }).textContent(), /PRIVATE KEY/);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('button', { name: 'Actions for pipeline' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Disable it' }).click();
    await page.getByRole('row', { name: /^pipeline disabled/ }).waitFor();
  });
});
