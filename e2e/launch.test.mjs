import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, heading, hindrances, scrollsSideways, signIn, withPage } from './lib/browser.mjs';
import { api, demoProject, endInstances, runScript } from './lib/platform.mjs';

const images = process.env.GPUAAS_E2E_IMAGES;
const picture = async (page, name) => {
  if (images) await page.screenshot({ path: `${images}/${name}.png` });
};
let project;

before(async () => {
  project = await demoProject();
});
after(async () => {
  await closeBrowser();
  await endInstances(project.id);
});

// P-01, P-03, P-04, P-05, P-06, B-03, I-03, H-30: the whole life of an app, seen and done in the browser alone.
test('from the first launch to the receipt', async () => {
  await withPage({}, async (page) => {
    await signIn(page);
    await heading(page, /^Hello/).waitFor();
    await page.getByRole('heading', { name: 'Launch your first notebook' }).waitFor();
    await page.getByRole('heading', { name: 'Compute' }).waitFor();
    await page.getByText('active', { exact: true }).first().waitFor();
    await picture(page, 'home');
    assert.deepEqual(await hindrances(page), [], 'home');

    await page.getByRole('link', { name: 'Catalog' }).click();
    await page.getByRole('link', { name: 'Launch Hello web' }).waitFor();
    await picture(page, 'catalog');
    await page.getByRole('link', { name: 'Launch Hello web' }).click();
    await heading(page, 'Launch Hello web').waitFor();
    await page.getByRole('radio', { name: /^demo/ }).waitFor();
    assert.equal(await page.getByRole('radio', { name: /^demo/ }).isChecked(), true, 'the allocation that fits');
    await page.getByText('verified').first().waitFor();
    await picture(page, 'launch');
    assert.deepEqual(await hindrances(page), [], 'launch');

    await page.getByLabel('Name').fill('Not A Name');
    await page.getByRole('button', { name: 'Review and launch' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
    await page.getByLabel('Name').fill('from-the-browser');
    await page.getByText('The same with the command line').first().click();
    await page.getByText(/gpuaas instance create hello-web .*from-the-browser/).first().waitFor();
    await page.getByRole('button', { name: 'Review and launch' }).click();
    const review = page.getByRole('dialog');
    await review.getByText('Image digest').waitFor();
    assert.deepEqual(await hindrances(page), [], 'review');
    await review.getByRole('button', { name: 'Launch' }).click();

    await heading(page, 'from-the-browser').waitFor();
    assert.match(page.url(), /\/workloads\/instance\/[0-9a-f-]{36}$/);
    await page.getByRole('list', { name: 'Steps' }).waitFor();
    await picture(page, 'progress');
    await page.getByText('Running', { exact: true }).waitFor({ timeout: 60_000 });
    await page.getByRole('list', { name: 'Steps' }).getByText('Start and wait until it is ready').waitFor();
    await page.getByRole('link', { name: 'Open', exact: true }).waitFor();
    await picture(page, 'detail');
    await page.getByText('From your own machine').click();
    await page.getByText('gpuaas port-forward from-the-browser').waitFor();
    assert.deepEqual(await hindrances(page), [], 'detail');

    await page.getByRole('tab', { name: 'Logs' }).click();
    await page.getByRole('region', { name: 'Log' }).waitFor();
    await page.getByText(/\d+ lines?, live/).waitFor();
    await page.getByLabel('Search').fill('no line has this in it');
    await page.getByText(/^0 lines of/).waitFor();
    await page.getByLabel('Search').fill('');
    assert.deepEqual(await hindrances(page), [], 'logs');

    await page.getByRole('tab', { name: 'Metrics' }).click();
    await page.getByRole('img', { name: /^Memory: / }).waitFor();
    assert.deepEqual(await hindrances(page), [], 'metrics');
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.getByText('Start completed').waitFor();
    assert.deepEqual(await hindrances(page), [], 'timeline');

    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop it' }).click();
    await page.getByText('Stopped', { exact: true }).first().waitFor({ timeout: 30_000 });
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Start it' }).click();
    await page.getByText('Running', { exact: true }).waitFor({ timeout: 30_000 });

    await page.getByRole('button', { name: 'Decommission' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Decommission it' }).click();
    await page.getByText('Ended', { exact: true }).first().waitFor({ timeout: 30_000 });
    await page.getByRole('tab', { name: 'Receipt' }).click();
    await page.getByText('Nothing of this instance is left on its node.').waitFor();
    await page.getByText('Attested by the node').waitFor();
    assert.deepEqual(await hindrances(page), [], 'receipt');

    await page.getByRole('link', { name: 'Workloads', exact: true }).first().click();
    await page.getByText('Nothing runs in this project').waitFor();
    await page.getByLabel('Ended ones too').check();
    await page.getByRole('link', { name: 'from-the-browser' }).waitFor();
  });
});

// P-01 without a mouse, on a phone, in the dark.
test('a launch with the keyboard alone, on a phone', async () => {
  await withPage({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' }, async (page) => {
    await signIn(page, undefined, '/launch/hello-web');
    await page.getByRole('radio', { name: /^demo/ }).waitFor();
    assert.equal(await scrollsSideways(page), false, 'launch');
    const goTo = async (locator) => {
      await locator.waitFor();
      for (let presses = 0; presses < 60; presses += 1) {
        if (await locator.evaluate((element) => element === document.activeElement)) return;
        await page.keyboard.press('Tab');
      }
      assert.fail(`Tab does not reach ${locator}`);
    };
    await goTo(page.getByLabel('Name'));
    await page.keyboard.type('by-keyboard');
    await page.getByText(/by-keyboard/).first().waitFor({ state: 'attached' });
    await goTo(page.getByRole('button', { name: 'Review and launch' }));
    await page.keyboard.press('Enter');
    const launch = page.getByRole('dialog').getByRole('button', { name: 'Launch' });
    await goTo(launch);
    await page.keyboard.press('Enter');
    await heading(page, 'by-keyboard').waitFor();
    assert.equal(await heading(page, 'by-keyboard').evaluate((element) => element === document.activeElement), true, 'the new page has the focus');
    await page.getByText('Running', { exact: true }).waitFor({ timeout: 60_000 });
    assert.equal(await scrollsSideways(page), false, 'detail');
    assert.deepEqual(await hindrances(page), [], 'dark, on a phone');
  });
});

// DESIGN §3.3: the world moves between plan and launch; what moved is shown, and asked again.
test('a plan that is no longer true is shown again with what moved', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, '/launch/hello-web');
    await page.getByLabel('Name').fill('moved');
    await page.getByRole('button', { name: 'Review and launch' }).click();
    const review = page.getByRole('dialog');
    await review.getByText('1.20 EUR per hour', { exact: true }).waitFor();
    await api('POST', '/api/v1/skus/local-gpu/prices', { amount_micros: 2_500_000, currency: 'EUR', per_units: 3600, unit: 'allocation_seconds' });
    await review.getByRole('button', { name: 'Launch' }).click();
    await review.getByText('Something has changed since you looked.').waitFor();
    await review.getByText('2.50 EUR per hour').first().waitFor();
    await review.getByRole('button', { name: 'Launch all the same' }).click();
    await heading(page, 'moved').waitFor();
  });
});

// P-05: live, through a restart of the server.
test('a page that is open while the server restarts goes on by itself', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, '/workloads');
    await page.getByRole('link', { name: 'by-keyboard' }).waitFor();
    await runScript('--stop');
    await page.getByText('The connection to the platform is interrupted').waitFor({ timeout: 20_000 });
    await runScript('--detach');
    await page.getByText('The connection to the platform is interrupted').waitFor({ state: 'detached', timeout: 30_000 });
    const { items } = await api('GET', `/api/v1/projects/${project.id}/app-instances?limit=200`);
    const moved = items.find((one) => one.name === 'moved');
    await api('POST', `/api/v1/projects/${project.id}/app-instances/${moved.id}/decommission`, {});
    await page.getByRole('link', { name: 'moved' }).waitFor({ state: 'detached', timeout: 30_000 });
  });
});
