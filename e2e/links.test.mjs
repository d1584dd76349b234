import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, heading, hindrances, scrollsSideways, signIn, withPage } from './lib/browser.mjs';
import { addVersion, moveVersion } from './lib/platform.mjs';

const PARAMETERS = {
  greeting: { type: 'string', title: 'Greeting', default: 'Hello', max_length: 200 },
  workers: { type: 'integer', title: 'Workers', minimum: 1, maximum: 8, default: 2 },
  debug: { type: 'boolean', title: 'Debug', default: false },
  packages: { type: 'array', title: 'Packages', items: { type: 'string' } },
  mode: { type: 'string', title: 'Mode', enum: ['fast', 'careful'], default: 'fast' },
  reviewers: { type: 'integer', title: 'Reviewers', default: 1, when: "params.mode == 'careful'" },
};
const VERSION = '0.9.0';

before(() => addVersion(VERSION, () => ({ parameters: PARAMETERS })));
after(async () => {
  await closeBrowser();
  await moveVersion(VERSION, 'deprecated');
});

/** Every call that would plan or launch something. */
function launches(page) {
  const seen = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && /\/app-instances(\/plan)?$/.test(new URL(request.url()).pathname)) seen.push(request.url());
  });
  return seen;
}

const link = (entries) => `/launch/hello-web?${new URLSearchParams([['version', VERSION], ...entries])}`;
const filledIn = (page) => page.getByRole('region', { name: 'Filled in for you' });

// U-07: a link fills in the form by the types of its parameters, through the sign-in, and nothing starts by itself.
test('a link fills in the form and does nothing else', async () => {
  await withPage({}, async (page) => {
    const seen = launches(page);
    const path = link([
      ['values.greeting', 'Good day & welcome'], ['values.workers', '5'], ['values.debug', 'true'], ['values.packages', 'numpy'], ['values.packages', 'pandas'],
      ['values.reviewers', '3'], ['values.mode', 'careful'], ['allocation', 'demo'], ['resources.memory_mib', '96'],
    ]);
    await signIn(page, undefined, path);
    await heading(page, 'Launch Hello web').waitFor();
    await page.getByLabel('Reviewers').waitFor();
    assert.equal(await page.getByLabel('Version').inputValue(), VERSION);
    assert.equal(await page.getByLabel('Greeting').inputValue(), 'Good day & welcome');
    assert.equal(await page.getByLabel('Workers').inputValue(), '5');
    assert.equal(await page.getByLabel('Debug').isChecked(), true);
    assert.equal(await page.getByLabel('Packages').inputValue(), 'numpy\npandas');
    assert.equal(await page.getByLabel('Reviewers').inputValue(), '3', 'asked for because of another value');
    assert.equal(await page.getByLabel('Memory (MiB)').inputValue(), '96');
    await filledIn(page).getByText('Nothing has started').waitFor();
    await filledIn(page).getByText('Good day & welcome').waitFor();
    assert.equal(await filledIn(page).getByText('Not taken').count(), 0);
    assert.deepEqual(await hindrances(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await scrollsSideways(page), false);
    await page.getByText('Nothing starts before you have seen the plan.').waitFor();
    assert.deepEqual(seen, [], 'nothing was planned or launched');

    await page.getByRole('button', { name: 'Review and launch' }).click();
    await page.getByRole('dialog').getByText('Good day & welcome', { exact: true }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click();
    await filledIn(page).getByRole('button', { name: 'Start afresh' }).click();
    await filledIn(page).waitFor({ state: 'detached' });
    await page.getByLabel('Reviewers').waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Greeting').inputValue(), 'Hello');
  });
});

// U-07: whoever writes a link decides nothing that the form does not show, and what is wrong with it is said.
test('a hostile link is shown as text, and what it cannot set is told', async () => {
  await withPage({}, async (page) => {
    const seen = launches(page);
    const markup = '<img src=x onerror=alert(1)>';
    await signIn(page, undefined, link([
      ['values.greeting', markup], ['values.workers', 'many'], ['values.command', 'rm -rf /'], ['access.web', 'public'], ['mounts.data', '/etc'],
      ['addons', 'miner'], ['allocation', 'elsewhere'], ['resources.memory_mib', '1e99'], ['plan_digest', 'sha256:00'], ['x\u202ey', '1'],
    ]));
    assert.equal(await page.getByLabel('Greeting').inputValue(), markup);
    await filledIn(page).getByText(markup).waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    for (const sentence of [
      'Workers: “many” is not a whole number.', `command is no parameter of version ${VERSION} with these choices.`, 'A link cannot set access.web.',
      'A link cannot set mounts.data.', 'The app has no add-on miner.', 'This project has no allocation elsewhere.', 'Memory in MiB cannot be 1e99.',
      'A link cannot set plan_digest.', 'A link cannot set x\\u{202e}y.',
    ]) await filledIn(page).getByText(sentence, { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Workers').inputValue(), '2', 'the default stays');
    await page.getByText('Nothing starts before you have seen the plan.').waitFor();
    assert.deepEqual(await hindrances(page), []);

    await page.goto(link([['values.greeting', 'x'.repeat(5000)]]));
    await filledIn(page).getByText('The link is too long to be read. Nothing of it was taken.').waitFor();
    await page.getByRole('button', { name: 'Review and launch' }).waitFor();
    await page.goto('/launch/hello-web?version=7.7.7');
    await filledIn(page).getByText('Version 7.7.7 is none that this project can launch').waitFor();
    assert.deepEqual(seen, [], 'nothing was planned or launched');
  });
});

test('the link of a form gives somebody else the same form, without what looks like a secret', async () => {
  await withPage({ permissions: ['clipboard-read', 'clipboard-write'] }, async (page, context) => {
    await signIn(page, undefined, `/launch/hello-web?version=${VERSION}`);
    await page.getByLabel('Workers').fill('7');
    await page.getByLabel('Packages').fill('numpy\npandas');
    const secret = `ghp_${'a1b2c3d4'.repeat(5)}`;
    await page.getByLabel('Greeting').fill(secret);
    await page.locator('[aria-invalid=true]').first().waitFor();
    await page.getByRole('button', { name: 'Copy link to this form' }).click();
    await page.getByRole('button', { name: 'Copy link to this form' }).getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.doesNotMatch(copied, /ghp_/);
    assert.match(copied, /^https?:.*\/launch\/hello-web\?version=0\.9\.0&.*values\.workers=7/);

    const other = await context.newPage();
    await other.goto(copied);
    await filledIn(other).getByText('Nothing has started').waitFor();
    await other.getByLabel('Workers').waitFor();
    assert.equal(await other.getByLabel('Workers').inputValue(), '7');
    assert.equal(await other.getByLabel('Packages').inputValue(), 'numpy\npandas');
    assert.equal(await other.getByLabel('Greeting').inputValue(), 'Hello');
  });
});

test('a value that another version does not know can be left out', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, link([['values.workers', '5']]));
    await filledIn(page).getByText('Nothing has started').waitFor();
    await page.getByLabel('Version').selectOption('1.0.0');
    await page.getByText('Version 1.0.0 has no parameter workers.').waitFor();
    assert.deepEqual(await hindrances(page), []);
    await page.getByRole('button', { name: 'Leave it out' }).click();
    await page.getByText('Nothing starts before you have seen the plan.').waitFor();
  });
});
