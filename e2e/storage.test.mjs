import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, heading, hindrances, scrollsSideways, signIn, withPage } from './lib/browser.mjs';
import { addVersion, api, demoProject, endInstances, moveVersion, until } from './lib/platform.mjs';

const VERSION = '0.9.1';
const MOUNTS = [
  { name: 'workspace', path: '/workspace', kind: 'workspace' },
  { name: 'models', path: '/models', kind: 'model', required: true, read_only: true, min_size_mib: 1024 },
];
let project;
let volumes;

before(async () => {
  project = await demoProject();
  volumes = `/api/v1/projects/${project.id}/volumes`;
  await addVersion(VERSION, ({ resources }) => ({ resources: { ...resources, mounts: MOUNTS } }));
  const { items } = await api('GET', `/api/v1/projects/${project.id}/allocations?state=active&limit=200`);
  const { id } = items.find((one) => one.name === 'demo');
  await api('POST', volumes, { name: 'too-small', allocation_id: id, size_mib: 10 });
});
after(async () => {
  await closeBrowser();
  await moveVersion(VERSION, 'deprecated');
  await endInstances(project.id);
  for (const one of (await api('GET', `${volumes}?limit=200`)).items) await api('DELETE', `${volumes}/${one.id}`);
  await until(async () => (await api('GET', `${volumes}?limit=200`)).items.length === 0);
});

const open = (page) => signIn(page, undefined, `/launch/hello-web?version=${VERSION}`);
const place = (page, name) => page.getByRole('group', { name: new RegExp(`^${name} /`) });

async function makeVolume(page, mount, name, size) {
  await place(page, mount).getByRole('button', { name: `New volume for ${mount}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  if (size) await dialog.getByLabel('Size in GiB').fill(size);
  assert.deepEqual(await hindrances(page), [], 'the dialog');
  await dialog.getByRole('button', { name: 'Create it' }).click();
  await dialog.waitFor({ state: 'detached' });
  const made = place(page, mount).getByRole('radio', { name: `Volume ${name}` });
  await made.waitFor();
  assert.equal(await made.isChecked(), true, 'what was made is chosen');
}

// I-06, I-07: where the workspace lives is chosen in the form, made there if need be, and shown before and after.
test('a workspace is put on a new volume, and shown in the review and on the workload', async () => {
  await withPage({}, async (page) => {
    await open(page);
    const scratch = place(page, 'workspace').getByRole('radio', { name: /^Scratch/ });
    await scratch.waitFor();
    assert.equal(await scratch.isChecked(), true, 'scratch where nothing is chosen');
    await place(page, 'models').getByText('The app needs a volume here; choose one, or create one first.').first().waitFor();
    await place(page, 'models').getByText(/choices? (does|do) not fit: why\?/).click();
    await place(page, 'models').getByText('The app needs 1024 MiB here; the volume is meant for 10 MiB.').waitFor();
    assert.deepEqual(await hindrances(page), []);

    await page.getByLabel('Name').fill('with-volumes');
    await makeVolume(page, 'workspace', 'home');
    await makeVolume(page, 'models', 'weights', '2');
    assert.equal(await page.getByLabel('Name').inputValue(), 'with-volumes', 'the form was not sent meanwhile');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await scrollsSideways(page), false);
    await page.setViewportSize({ width: 1280, height: 800 });

    await page.getByText('Nothing starts before you have seen the plan.').waitFor();
    await page.getByRole('button', { name: 'Review and launch' }).click();
    const review = page.getByRole('dialog');
    await review.getByText('/workspace: volume home, kept when the instance ends').waitFor();
    await review.getByText('/models: volume weights, to read only, kept when the instance ends').waitFor();
    assert.deepEqual(await hindrances(page), [], 'review');
    await review.getByRole('button', { name: 'Launch' }).click();
    await heading(page, 'with-volumes').waitFor();
    await page.getByText('volume home, kept when the instance ends').waitFor();
    await page.getByText('Running', { exact: true }).waitFor({ timeout: 60_000 });
  });
});

// I-06: what somebody else writes can be read beside them, and the form says so.
test('a volume that another instance writes to is offered to read only', async () => {
  await withPage({}, async (page) => {
    await open(page);
    const home = place(page, 'workspace').getByRole('radio', { name: /^Volume home/ });
    await home.waitFor();
    await place(page, 'workspace').getByText('Another instance writes to it; here it can be read only.').waitFor();
    await home.check();
    assert.equal(await place(page, 'workspace').getByRole('checkbox', { name: 'To read only' }).isChecked(), true);
    await place(page, 'models').getByRole('radio', { name: /^Volume weights/ }).check();
    await page.getByText('Nothing starts before you have seen the plan.').waitFor();
    await place(page, 'workspace').getByRole('checkbox', { name: 'To read only' }).uncheck();
    await place(page, 'workspace').getByText(/with-volumes/).waitFor();
    await page.getByText('Before it can start:').waitFor();
    await place(page, 'workspace').getByRole('checkbox', { name: 'To read only' }).check();
    await page.getByRole('button', { name: 'Review and launch' }).click();
    await page.getByRole('dialog').getByText('/workspace: volume home, to read only').waitFor();
  });
});
