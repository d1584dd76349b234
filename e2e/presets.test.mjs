import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, hindrances, scrollsSideways, signIn, withPage } from './lib/browser.mjs';
import { addVersion, api, demoProject, moveVersion } from './lib/platform.mjs';

const VERSION = '0.9.2';
const PARAMETERS = {
  greeting: { type: 'string', title: 'Greeting', default: 'Hello', max_length: 200 },
  workers: { type: 'integer', title: 'Workers', minimum: 1, maximum: 8, default: 2 },
};
const NOTES = 'Smaller than before.\nThe page is the same.';
let presets;

before(async () => {
  const project = await demoProject();
  presets = `/api/v1/projects/${project.id}/launch-presets`;
  await addVersion(VERSION, ({ artifact_ref: image, runtime_profile: profile }) => ({
    parameters: PARAMETERS,
    artifacts: [{ name: 'page', variants: [{ name: 'small', image_ref: image, notes: NOTES }] }],
    runtime_profile: { ...profile, artifact: 'page' },
  }));
});
after(async () => {
  await closeBrowser();
  for (const one of (await api('GET', `${presets}?app=hello-web`)).items) await api('DELETE', `${presets}/${one.id}`);
  await moveVersion(VERSION, 'deprecated');
});

const path = `/launch/hello-web?version=${VERSION}`;
const kept = (page) => page.getByRole('region', { name: 'Presets' });

// F-26: who chooses an image reads what is said about it.
test('the notes of each image stand where it is chosen', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, path);
    await page.getByRole('group', { name: 'Image' }).getByText('Smaller than before.').waitFor();
  });
});

// B-01, P-02, U-10: choices are kept under a name, found again by others of the project, and may be what its forms begin with.
test('a preset is saved, used, made the default of the project, and deleted', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, path);
    await page.getByLabel('Greeting').fill('Good morning');
    await page.getByLabel('Workers').fill('5');
    await page.getByText('Nothing starts before you have seen the plan.').waitFor();
    await page.getByRole('button', { name: 'Save as a preset' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name of the preset').fill('Not A Name');
    await dialog.getByRole('button', { name: 'Save it' }).click();
    await dialog.locator('[aria-invalid=true]').waitFor();
    await dialog.getByLabel('Name of the preset').fill('mornings');
    assert.deepEqual(await hindrances(page), [], 'the dialog');
    await dialog.getByRole('button', { name: 'Save it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await kept(page).getByText('mornings', { exact: true }).waitFor();

    await page.reload();
    await kept(page).getByText('mornings', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Greeting').inputValue(), 'Hello', 'it waits to be chosen');
    assert.deepEqual(await hindrances(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await scrollsSideways(page), false);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: 'Use the preset mornings' }).click();
    await page.getByText('from the preset mornings').first().waitFor();
    assert.equal(await page.getByLabel('Greeting').inputValue(), 'Good morning');
    assert.equal(await page.getByLabel('Workers').inputValue(), '5');

    await page.getByRole('button', { name: 'More for mornings' }).click();
    await page.getByRole('menuitem', { name: 'Make it the default' }).click();
    await kept(page).getByText('default of the project').waitFor();
    await page.reload();
    await page.getByText('The default is set by the project.').first().waitFor();
    assert.equal(await page.getByLabel('Greeting').inputValue(), 'Good morning', 'forms begin with it');
    assert.equal(await page.getByText('The default is set by the project.').count(), 2);

    await page.getByRole('button', { name: 'More for mornings' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').or(page.getByRole('dialog')).getByRole('button', { name: 'Delete it' }).click();
    await kept(page).waitFor({ state: 'detached' });
    await page.getByText('The default is set by the project.').first().waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Greeting').inputValue(), 'Hello', "the app's own again");
  });
  assert.deepEqual((await api('GET', `${presets}?app=hello-web`)).items, []);
});
