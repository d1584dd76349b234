import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, heading, hindrances, scrollsSideways, signIn, withPage } from './lib/browser.mjs';
import { addVersion, api, demoProject, endInstances, moveVersion, person, until } from './lib/platform.mjs';

const VERSION = '0.9.3';
const SECRET = 'opensesame';
let project;
let instance;

before(async () => {
  project = await demoProject();
  await addVersion(VERSION, ({ runtime_profile: profile }) => ({
    parameters: { word: { type: 'string', default: 'plain' } },
    runtime_profile: { ...profile, env: [{ name: 'LICENSE_TOKEN', value: '${params.word}' }, { name: 'MODE', value: 'fast' }] },
  }));
  const at = `/api/v1/projects/${project.id}`;
  const { items } = await api('GET', `${at}/allocations?state=active&limit=200`);
  const { id } = items.find((one) => one.name === 'demo');
  const wish = { slug: 'hello-web', app_version: VERSION, name: 'looked-into', target_allocation_id: id, values: { word: SECRET } };
  instance = await api('POST', `${at}/app-instances`, wish);
  await until(async () => (await api('GET', `${at}/app-instances/${instance.id}`)).status === 'running', 60);
});
after(async () => {
  await closeBrowser();
  await endInstances(project.id);
  await moveVersion(VERSION, 'deprecated');
});

// B-13: operators read what the engine was given, and what another would be, with secrets masked.
test('an operator reads what each engine gets, with secrets masked', async () => {
  await withPage({}, async (page) => {
    await signIn(page, undefined, `/workloads/instance/${instance.id}`);
    await page.getByRole('tab', { name: 'Rendered files' }).click();
    await page.getByRole('heading', { name: 'What Node agent gets' }).waitFor();
    await page.getByText('Secrets are masked: their values are never in these files.').waitFor();
    await page.getByText('with the instance, unchanged').waitFor();
    const { digest, files } = await api('GET', `/api/v1/projects/${project.id}/app-instances/${instance.id}/rendered`);
    await page.getByTitle(digest).waitFor();
    const shown = page.getByRole('region', { name: `Contents of ${files[0].name}` });
    assert.match(await shown.textContent(), /fast/);
    await page.getByText('1 place is masked').click();
    await page.getByText('/components/0/env/0/value').waitFor();
    assert.deepEqual(await hindrances(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await scrollsSideways(page), false);
    await page.setViewportSize({ width: 1280, height: 800 });

    for (const engine of ['Docker compose', 'Kubernetes', 'Helm']) {
      await page.getByRole('tab', { name: engine }).click();
      await page.getByRole('heading', { name: `What ${engine} gets` }).waitFor();
      await page.getByText('made just now, to look at').waitFor();
      assert.doesNotMatch(await page.content(), new RegExp(SECRET));
    }
    assert.deepEqual(await hindrances(page), []);
  });
});

// B-13: who uses a project has fields, not files.
test('who only uses the project is not shown what engines get', async () => {
  const user = await person('render-user', 'project-user', project.id);
  await withPage({}, async (page) => {
    const asked = [];
    page.on('request', (request) => {
      if (new URL(request.url()).pathname.endsWith('/rendered')) asked.push(request.url());
    });
    await signIn(page, user, `/workloads/instance/${instance.id}?tab=rendered`);
    await heading(page, 'looked-into').waitFor();
    await page.getByRole('tab', { name: 'Timeline' }).waitFor();
    assert.equal(await page.getByRole('tab', { name: 'Rendered files' }).count(), 0);
    assert.deepEqual(asked, [], 'it is not even asked for');
  });
});
