import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, fillSignIn, heading, hindrances, signIn, withPage } from './lib/browser.mjs';
import { api, demoProject, endInstances, lookingRole, person, until, url } from './lib/platform.mjs';

let project;
let instance;

before(async () => {
  project = await demoProject();
  const { items } = await api('GET', `/api/v1/projects/${project.id}/allocations?state=active`);
  const path = `/api/v1/projects/${project.id}/app-instances`;
  instance = await api('POST', path, { slug: 'hello-web', name: 'to-open', target_allocation_id: items[0].id });
  await until(async () => (await api('GET', `${path}/${instance.id}`)).status === 'running');
  instance = await api('GET', `${path}/${instance.id}`);
});
after(async () => {
  await closeBrowser();
  await endInstances(project.id);
});

// J-07, P-03: the app's page in the shell, in a tab of its own, and by the address that the gateway sends people to.
test('an app opens in the shell, in a new tab, and by its own address', async () => {
  const [endpoint] = instance.access.endpoints;
  await withPage({}, async (page, context) => {
    await signIn(page, undefined, `/workloads/instance/${instance.id}`);
    await page.getByRole('link', { name: 'Open', exact: true }).click();
    const frame = page.frameLocator('iframe');
    await frame.getByText(instance.id).first().waitFor();
    assert.deepEqual(await hindrances(page), []);
    // What is typed in the app is still there after a look at its logs.
    const inside = () => page.frames().find((one) => one !== page.mainFrame()).evaluate(() => { const before = window.typed; window.typed = 'kept'; return before; });
    assert.equal(await inside(), undefined);
    const shown = await page.getByRole('tab', { selected: true }).textContent();
    await page.getByRole('tab', { name: 'Logs' }).click();
    await page.getByRole('tab', { name: shown }).click();
    assert.equal(await inside(), 'kept');

    const opened = context.waitForEvent('page');
    await page.getByRole('button', { name: 'Open in a new tab' }).click();
    const tab = await opened;
    await tab.getByText(instance.id).first().waitFor();
    assert.equal(new URL(tab.url()).host, new URL(endpoint.url).host);
    assert.equal(await tab.evaluate(() => window.opener), null);

    // A plain form of the app's own page arrives, though the page may not say where it is.
    const [answer] = await Promise.all([
      tab.waitForResponse((response) => response.url().endsWith('/plain-form')),
      tab.evaluate(() => {
        const form = document.createElement('form');
        Object.assign(form, { action: '/plain-form', method: 'POST' });
        document.body.append(form);
        form.submit();
      }),
    ]);
    assert.notEqual(answer.status(), 403);
    assert.equal(answer.request().headers()['sec-fetch-site'] ?? 'same-origin', 'same-origin');
    await until(async () => (await api('GET', `/api/v1/projects/${project.id}/app-instances/${instance.id}/logs?tail=200`)).includes('plain-form'));

    const direct = await context.newPage();
    await context.clearCookies({ domain: new URL(endpoint.url).hostname });
    await direct.goto(endpoint.url);
    await direct.getByText(instance.id).first().waitFor();
    assert.equal(new URL(direct.url()).host, new URL(endpoint.url).host);
  });
});

// G12: at an address that is another site than the apps, in a profile that keeps nothing for other sites.
test('an app opens inside the platform also where other sites may store nothing', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, `${url}/workloads/instance/${instance.id}`);
    const steps = [];
    page.on('response', (response) => {
      if (response.frame() !== page.mainFrame() && response.request().resourceType() === 'document') steps.push(response.status());
    });
    await page.getByRole('link', { name: 'Open', exact: true }).click();
    await page.frameLocator('iframe').getByText(instance.id).first().waitFor();
    assert.deepEqual(steps, [303, 200], 'one redirect, then the app');
    const frame = page.frames().find((one) => one !== page.mainFrame());
    const stored = await frame.evaluate(() => { try { return String(localStorage.length); } catch (error) { return error.name; } });
    assert.equal(stored, 'SecurityError', 'the profile is as strict as it should be');
  });
});

// J-11: who is not signed in does so on the way; who may not is told so in words.
test('the address of an app leads through sign-in, and a stranger is told that it is not theirs', async () => {
  const [endpoint] = instance.access.endpoints;
  await withPage({}, async (page) => {
    await page.goto(endpoint.url);
    await heading(page, 'Sign in').waitFor();
    await fillSignIn(page);
    await page.getByText(instance.id).first().waitFor();
    assert.equal(new URL(page.url()).host, new URL(endpoint.url).host);
  });
  const looker = await person('olga', await lookingRole(), project.id);
  await withPage({}, async (page) => {
    await signIn(page, looker, `/open/${endpoint.label}`);
    await page.getByText('not yours to open').waitFor();
    await page.goto(`/workloads/instance/${instance.id}`);
    await heading(page, 'to-open').waitFor();
    assert.equal(await page.getByRole('tab', { name: 'Logs' }).count(), 0);
    assert.equal(await page.getByRole('button', { name: 'Decommission' }).count(), 0);
  });
});

test('a token for programs is shown once and opens this endpoint alone', async () => {
  const [endpoint] = instance.access.endpoints;
  await withPage({}, async (page) => {
    await signIn(page, undefined, `/workloads/instance/${instance.id}`);
    await page.getByText('For programs').click();
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Name').fill('pipeline');
    await page.getByRole('button', { name: 'Make it' }).click();
    const token = (await page.getByLabel('The secret', { exact: true }).textContent()).trim();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    const at = new URL(endpoint.url);
    const call = (bearer) =>
      page.request.get(`http://127.0.0.1:${at.port}/`, { headers: { host: at.host, authorization: `Bearer ${bearer}` }, maxRedirects: 0 });
    assert.match(await (await call(token)).text(), new RegExp(instance.id));
    await page.getByRole('button', { name: 'Revoke pipeline' }).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByText('No tokens for this endpoint.').waitFor();
    await until(async () => (await call(token)).status() === 401, 6);
  });
});
