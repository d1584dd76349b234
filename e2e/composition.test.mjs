import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, heading, hindrances, scrollsSideways, signIn, withPage } from './lib/browser.mjs';
import { api, demoProject, endInstances, until } from './lib/platform.mjs';

const SLUG = 'serving-stack';
let project;

/** Two lanes behind a gateway, with figures and pages to look at them as add-ons; all from the image that is there. */
function stack({ artifact_ref: image, runtime_profile: _, ui: __, resources: ___, ...common }) {
  const component = (name, kind, port, expose, more = {}) => ({
    name, class: kind, image_ref: image, ports: [{ name, container: port, expose }],
    resources: { min_memory_mib: 64, min_vcpu: 0.1 }, readiness: { check: { kind: 'tcp', port } }, ...more,
  });
  const lane = (name, port) =>
    component(name, 'primary', port, 'internal', { lane: name, gpu_count: { default: 1, min: 1, max: 2 }, tensor_parallel: { default: 1, min: 1, max: 2 } });
  return {
    ...common,
    artifact_ref: image,
    slug: SLUG,
    display_name: 'Serving stack',
    description: 'Two lanes behind a gateway.',
    compatibility: { ...common.compatibility, min_gpu_count: 2 },
    components: [
      component('gateway', 'gateway', 8080, 'platform_proxy', { depends_on: ['chat', 'embedding'] }),
      lane('chat', 8000),
      lane('embedding', 8001),
      component('collector', 'addon', 9090, 'internal'),
      component('boards', 'addon', 3000, 'platform_proxy', { depends_on: ['collector'] }),
    ],
    addons: [
      { name: 'metrics', kind: 'metrics', display_name: 'Metrics', description: 'Figures of the lanes.', components: ['collector'], storage_mib: 512 },
      { name: 'dashboards', kind: 'dashboards', display_name: 'Dashboards', components: ['boards'], requires: ['metrics'] },
    ],
    execution_engines: ['docker_compose', 'kubernetes', 'helm'],
    validation: { smoke: [{ name: 'answers', component: 'gateway', check: { kind: 'tcp', port: 8080 } }] },
  };
}

/** The node has two GPUs, and the demo allocation holds one of them: what is there is given back for another. */
async function hold(sku, name) {
  const at = `/api/v1/projects/${project.id}/allocations`;
  const of = async (state) => (await api('GET', `${at}?state=${state}&limit=200`)).items;
  for (const one of await of('active')) await api('POST', `${at}/${one.id}/release`, {});
  await until(async () => (await of('active')).length + (await of('releasing')).length === 0);
  await api('POST', at, { sku, name });
}

before(async () => {
  project = await demoProject();
  await endInstances(project.id);
  const { manifest } = await api('GET', '/api/v1/apps/catalog/hello-web/versions/1.0.0');
  await api('POST', '/api/v1/admin/apps/manifests', stack(manifest));
  for (const to of ['staged', 'canary', 'active']) {
    await api('POST', `/api/v1/admin/apps/catalog/${SLUG}/versions/1.0.0/move`, { to, reason: 'browser tests' });
  }
  await api('PUT', `/api/v1/projects/${project.id}/apps/entitlements/${SLUG}`, { enabled: true });
  const price = { amount_micros: 2_400_000, currency: 'EUR', per_units: 3600 };
  await api('POST', '/api/v1/skus', { slug: 'two-gpus', shape: 'gpu_slice', gpu_count: 2, vcpu: 2, memory_mib: 4096, grant_policy: 'auto', price });
  await hold('two-gpus', 'pair');
});
after(async () => {
  await closeBrowser();
  await hold('local-gpu', 'demo');
  await api('PATCH', '/api/v1/skus/two-gpus', { retired: true });
  await api('PUT', `/api/v1/projects/${project.id}/apps/entitlements/${SLUG}`, { enabled: false });
});

const addon = (page, name) => page.getByRole('checkbox', { name: new RegExp(`^${name}`) });
const lane = (page, name) => page.getByRole('group', { name, exact: true });
const open = async (page) => {
  await signIn(page, undefined, `/launch/${SLUG}`);
  await heading(page, 'Launch Serving stack').waitFor();
};

/** Presses Tab until this has the focus; a person would look for it the same way. */
async function tabTo(page, target) {
  for (let presses = 0; presses < 120; presses += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the keyboard does not reach ${target}`);
}

// P-02, C-06, C-07: an add-on is off until it is chosen, says before what it takes, and brings what it needs.
test('add-ons are off, say what they take, and bring along what they need', async () => {
  await withPage({}, async (page) => {
    await open(page);
    for (const name of ['Metrics', 'Dashboards']) assert.equal(await addon(page, name).isChecked(), false, `${name} is off`);
    await page.getByText('No add-on is chosen.').waitFor();
    await page.getByText(/^Takes 0\.1 vCPU, 64 MiB of memory and 512 MiB of storage of the allocation: .*0\.12.* per hour/).waitFor();
    await page.getByText('Brings along: Metrics.').waitFor();
    const row = (name) => page.getByRole('row', { name: new RegExp(`^${name} `) });
    await row('collector').getByText('does not run').waitFor();
    assert.deepEqual(await hindrances(page), []);

    await addon(page, 'Dashboards').check();
    await page.getByText('Comes with Dashboards.').waitFor();
    assert.equal(await addon(page, 'Metrics').isChecked(), true, 'it comes along');
    assert.equal(await addon(page, 'Metrics').isDisabled(), true, 'and stays while it is needed');
    await page.getByText(/^2 add-ons are chosen, taking 0\.2 vCPU, 128 MiB of memory and 512 MiB of storage of the allocation: .*0\.24/).first().waitFor();
    await page.getByRole('status').filter({ hasText: '2 add-ons are chosen' }).waitFor();
    await row('collector').getByText('runs', { exact: true }).waitFor();
    assert.deepEqual(await hindrances(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await scrollsSideways(page), false);
    await page.setViewportSize({ width: 1280, height: 800 });

    await addon(page, 'Dashboards').uncheck();
    await page.getByRole('status').filter({ hasText: 'No add-on is chosen.' }).waitFor();
    assert.equal(await addon(page, 'Metrics').isChecked(), false, 'nobody chose it for itself');
  });
});

// P-02, C-09, U-12: each lane says which GPUs it gets; how many is chosen within bounds, and never more than there are.
test('lanes show their GPUs, and more than the allocation has is refused', async () => {
  await withPage({}, async (page) => {
    await open(page);
    const gpus = (name) => page.getByRole('list', { name: `GPUs of ${name}` }).getByRole('listitem');
    await gpus('chat').first().waitFor();
    const [chat, embedding] = [await gpus('chat').allTextContents(), await gpus('embedding').allTextContents()];
    assert.deepEqual([chat.length, embedding.length], [1, 1]);
    assert.notEqual(chat[0], embedding[0], 'no GPU has two lanes');
    assert.match(chat[0], /^GPU \d: Simulated GPU, 16(\.0)? GiB/);
    assert.equal(await page.getByRole('group', { name: /^Image of/ }).count(), 3, 'each component that runs has its own image');

    await lane(page, 'chat').getByRole('spinbutton', { name: 'GPUs' }).fill('2');
    await page.getByText('2 GPUs of the allocation are free, the lanes need 3 (chat 2, embedding 1)').first().waitFor({ state: 'attached' });
    await page.getByText(/^Allocation pair: 2 GPUs of the allocation are free, the lanes need 3/).waitFor();
    await page.getByText('Before it can start:').waitFor();
    await lane(page, 'chat').getByRole('spinbutton', { name: 'GPUs' }).fill('7');
    await page.locator('[aria-invalid=true]').waitFor();
    assert.equal(await lane(page, 'chat').getByRole('spinbutton', { name: 'GPUs' }).getAttribute('aria-invalid'), 'true', 'the bound is told at its field');
    await lane(page, 'chat').getByRole('spinbutton', { name: 'GPUs' }).fill('1');
    await gpus('chat').first().waitFor();
  });
});

// P-02, B-06, C-04: the plan names its checks, says what each part takes of the price, and that nothing here runs it yet.
test('the plan is reviewed with the keyboard alone, and cannot be launched where no engine runs it', async () => {
  await withPage({}, async (page) => {
    const launches = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && new URL(request.url()).pathname.endsWith('/app-instances')) launches.push(request.url());
    });
    await open(page);
    await page.getByText('no engine of this platform runs several yet').waitFor();
    await tabTo(page, addon(page, 'Dashboards'));
    await page.keyboard.press('Space');
    await page.getByText('Comes with Dashboards.').waitFor();
    await tabTo(page, page.getByRole('button', { name: 'Review the plan' }));
    await page.keyboard.press('Enter');

    const dialog = page.getByRole('dialog', { name: 'Launch Serving stack?' });
    await dialog.getByRole('alert').getByText('The plan is good, but no engine of this platform runs it yet.').waitFor();
    const checks = dialog.getByRole('region', { name: 'Checks' }).getByRole('listitem');
    for (const name of ['Entitlement', 'Quota', 'GPUs', 'Resources', 'Storage', 'Artifacts', 'Secrets', 'Security', 'Engine']) {
      await checks.getByText(name, { exact: true }).waitFor();
    }
    await checks.filter({ hasText: '2 GPUs are bound, none of them twice.' }).getByText('passed', { exact: true }).waitFor();
    await checks.filter({ hasText: 'The launch has 5 components' }).getByText('not passed').waitFor();
    const price = dialog.getByRole('region', { name: 'Price' });
    await price.getByText(/2\.40.* per hour/).waitFor();
    assert.equal(await price.getByRole('listitem').count(), 5, 'a line for each component');
    await price.getByRole('listitem').filter({ hasText: 'chat' }).getByText(/1\.20/).waitFor();
    await price.getByRole('listitem').filter({ hasText: 'add-on dashboards' }).getByText(/0\.12/).waitFor();
    await price.getByText('launching adds nothing').waitFor();
    assert.equal(await dialog.getByRole('button', { name: /^Launch/ }).count(), 0, 'there is nothing to press');
    assert.deepEqual(await hindrances(page), []);

    await tabTo(page, dialog.getByText('Engines that could run it'));
    await page.keyboard.press('Enter');
    for (const engine of ['Docker compose', 'Kubernetes', 'Helm']) {
      await dialog.getByRole('listitem').filter({ hasText: engine }).getByText('not on this platform yet').first().waitFor();
    }
    assert.deepEqual(await hindrances(page), []);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(launches, [], 'nothing was asked to start');
  });
  assert.deepEqual((await api('GET', `/api/v1/projects/${project.id}/app-instances?limit=200`)).items, []);
});
