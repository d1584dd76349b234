import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, heading, hindrances, scrollsSideways, signIn, withPage } from './lib/browser.mjs';
import { api, demoProject, endInstances } from './lib/platform.mjs';

const PARAMETERS = {
  greeting: { type: 'string', title: 'Greeting', description: 'What the page says.', default: 'Hello', min_length: 2, max_length: 20 },
  workers: { type: 'integer', title: 'Workers', minimum: 1, maximum: 8, default: 2 },
  mode: { type: 'string', title: 'Mode', enum: ['fast', 'careful'], default: 'fast' },
  owner: { type: 'string', title: 'Owner', required: true, pattern: '^[a-z]+$' },
  packages: { type: 'array', title: 'Packages', items: { type: 'string' } },
  debug: { type: 'boolean', title: 'Debug', default: false },
  reviewers: { type: 'integer', title: 'Reviewers', default: 1, when: "params.mode == 'careful'" },
};
const HINTS = {
  order: ['owner', 'greeting'],
  groups: [{ title: 'For experts', parameters: ['debug', 'packages'] }],
  fields: {
    workers: { widget: 'slider', help: 'More are faster and need more memory.' },
    mode: { widget: 'radio' },
    debug: { warning: 'Logs become long.' },
    owner: { placeholder: 'team' },
  },
};
let project;

/** Two more versions of an app, as an author makes them: the same image, with parameters; one has no hints. */
before(async () => {
  project = await demoProject();
  const { manifest } = await api('GET', '/api/v1/apps/catalog/hello-web/versions/1.0.0');
  for (const [version, extra] of [['1.1.0', { ui_hints: HINTS }], ['1.1.1', {}]]) {
    await api('POST', '/api/v1/admin/apps/manifests', { ...manifest, version, parameters: PARAMETERS, ...extra });
    for (const to of ['staged', 'canary', 'active']) {
      await api('POST', `/api/v1/admin/apps/catalog/hello-web/versions/${version}/move`, { to, reason: 'browser tests' });
    }
  }
});
after(async () => {
  await closeBrowser();
  await endInstances(project.id);
});

// B-02, B-03: any registered manifest has its form without a change of the shell; without hints all fields are there too.
test('parameters are drawn by their types and hints, and without hints too', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, '/launch/hello-web');
    await page.getByLabel('Version').selectOption('1.1.0');
    await page.getByLabel('Greeting').waitFor();
    assert.equal(await page.getByLabel('Greeting').inputValue(), 'Hello', 'the default');
    assert.equal(await page.getByRole('slider', { name: 'Workers' }).inputValue(), '2');
    assert.equal(await page.getByRole('radiogroup', { name: 'Mode' }).getByRole('radio', { name: 'fast' }).isChecked(), true);
    await page.getByText('More are faster').waitFor();
    await page.getByRole('group', { name: 'For experts' }).getByRole('checkbox', { name: 'Debug' }).waitFor();
    await page.getByText('Logs become long.').waitFor();
    const order = await page.locator('label').allTextContents();
    assert.ok(order.findIndex((text) => text.startsWith('Owner')) < order.indexOf('Greeting'), order.join(', '));
    assert.deepEqual(await hindrances(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await scrollsSideways(page), false);
    await page.setViewportSize({ width: 1280, height: 800 });

    await page.getByLabel('Version').selectOption('1.1.1');
    await page.getByRole('spinbutton', { name: 'Workers' }).waitFor();
    for (const name of ['Greeting', 'Mode', 'Owner', 'Packages', 'Debug']) await page.getByLabel(new RegExp(`^${name}`)).waitFor();
    assert.deepEqual(await hindrances(page), []);
  });
});

// P-01, B-03: the server judges the values; its words stand at the field, and what was chosen is what is launched.
test('the server says what is wrong with the values, and the right ones are launched', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, '/launch/hello-web');
    await page.getByLabel('Version').selectOption('1.1.0');
    await page.getByLabel('Name').fill('with-values');
    const greeting = page.getByLabel('Greeting');
    await greeting.fill('x');
    await page.locator('[aria-invalid=true]').first().waitFor();
    assert.equal(await greeting.getAttribute('aria-invalid'), 'true');
    assert.equal(await page.getByLabel(/^Owner/).getAttribute('aria-invalid'), null, 'nobody is told off before they tried');
    await page.getByRole('button', { name: 'Review and launch' }).click();
    await page.getByRole('alert').getByText('Before it can start').waitFor();
    assert.equal(await page.getByLabel(/^Owner/).getAttribute('aria-invalid'), 'true', 'now they have');
    await greeting.fill('Welcome');
    await page.getByLabel(/^Owner/).fill('team');
    await page.getByLabel('Packages').fill('numpy\npandas');
    // B-01: what is asked for follows what was chosen.
    assert.equal(await page.getByLabel('Reviewers').count(), 0);
    await page.getByLabel('careful').check();
    await page.getByLabel('Reviewers').waitFor();
    await page.getByText(/--set/).first().waitFor({ state: 'attached' });
    const sent = page.waitForRequest((request) => request.url().endsWith('/app-instances/plan'));
    await page.getByText('Nothing starts before you have seen the plan.').waitFor();
    await page.getByRole('button', { name: 'Review and launch' }).click();
    const { values } = (await sent).postDataJSON();
    assert.deepEqual(values, { greeting: 'Welcome', owner: 'team', packages: ['numpy', 'pandas'], mode: 'careful' });
    await page.getByRole('dialog').getByRole('button', { name: 'Launch' }).click();
    await heading(page, 'with-values').waitFor();
    await page.getByRole('heading', { name: 'Parameters' }).waitFor();
    await page.getByText('Welcome').waitFor();
  });
});

test('the catalog says how far the making of an app has come', async () => {
  const path = '/api/v1/admin/apps/catalog/hello-web/preparing';
  await api('PUT', path, { display_name: 'Hello web', stage: 'building the image', percent: 40 });
  try {
    await withPage({}, async (page) => {
      await signIn(page, undefined, '/catalog');
      await page.getByText('Being prepared: building the image, 40 %').waitFor();
      await api('PUT', path, { display_name: 'Hello web', stage: 'building the image', percent: 40, failure: 'No space left.' });
      await page.getByText('Preparing it failed: No space left.').waitFor();
    });
  } finally {
    await api('DELETE', path);
  }
});
