// G03, G04, G05, G07, G11: two apps under one domain are one site to a browser. What the page of one can make the browser send to
// the other, or to the platform, with the visitor's own cookies; on names below localhost, and again on a domain with HTTPS.
// Each attack uses a path of its own, and the victim's log tells what arrived.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, newPage, picture, signIn } from './lib/browser.mjs';
import { api, demoProject, endInstances, portal, until } from './lib/platform.mjs';

let project;
let path;
const apps = {};

before(async () => {
  project = await demoProject();
  path = `/api/v1/projects/${project.id}/app-instances`;
  const { items } = await api('GET', `/api/v1/projects/${project.id}/allocations?state=active`);
  for (const name of ['victim', 'attacker']) {
    const made = await api('POST', path, { slug: 'hello-web', app_version: '1.0.0', name, target_allocation_id: items[0].id });
    await until(async () => (await api('GET', `${path}/${made.id}`)).status === 'running');
    const detail = await api('GET', `${path}/${made.id}`);
    apps[name] = { id: made.id, origin: new URL(detail.access.endpoints[0].url).origin, endpoint: detail.access.endpoints[0].name };
  }
});
after(async () => {
  await closeBrowser();
  await endInstances(project.id);
});

/** What the victim's app has seen, by its own log. */
async function seen() {
  return (await api('GET', `${path}/${apps.victim.id}/logs?tail=2000`)) ?? '';
}

async function enter(page, app) {
  const { url } = await page.evaluate(
    async ({ path, app }) => {
      const answer = await fetch(`${path}/${app.id}/endpoints/${app.endpoint}/open`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
      return answer.json();
    },
    { path, app },
  );
  return url;
}

/** Everything a page can try against another origin. Runs in the attacker's page. */
async function attacks({ victim, portal, project, session }) {
  const settle = (work) => Promise.race([work.catch((error) => `refused: ${error}`), new Promise((done) => setTimeout(() => done('nothing'), 2500))]);
  const told = {};
  const readable = async (url, options) => {
    const answer = await fetch(url, { credentials: 'include', ...options });
    return `${answer.type} ${answer.status} ${(await answer.text()).slice(0, 40)}`;
  };
  told.fetch = await settle(readable(`${victim}/attack-fetch`));
  told.nocors = await settle(readable(`${victim}/attack-nocors`, { mode: 'no-cors' }));
  told.post = await settle(readable(`${victim}/attack-post`, { method: 'POST', mode: 'no-cors', body: 'x' }));
  told.beacon = String(navigator.sendBeacon(`${victim}/attack-beacon`, 'x'));
  told.image = await settle(new Promise((done) => { const image = new Image(); image.onload = () => done('loaded'); image.onerror = () => done('error'); image.src = `${victim}/attack-image`; }));
  told.script = await settle(new Promise((done) => { const script = document.createElement('script'); script.onload = () => done('loaded'); script.onerror = () => done('error'); script.src = `${victim}/attack-script`; document.head.append(script); }));
  told.style = await settle(new Promise((done) => { const link = document.createElement('link'); link.rel = 'stylesheet'; link.onload = () => done('loaded'); link.onerror = () => done('error'); link.href = `${victim}/attack-style`; document.head.append(link); }));
  told.worker = await settle((async () => { const worker = new Worker(`${victim}/attack-worker`); return new Promise((done) => { worker.onerror = () => done('error'); worker.onmessage = () => done('message'); }); })());
  told.socket = await settle(new Promise((done) => { const socket = new WebSocket(`${victim.replace('http', 'ws')}/attack-socket`); socket.onopen = () => done('open'); socket.onclose = () => done('closed'); }));
  told.object = await settle(new Promise((done) => { const object = document.createElement('object'); object.data = `${victim}/attack-object`; object.onload = () => done('loaded'); object.onerror = () => done('error'); document.body.append(object); }));
  told.form = await settle(new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.name = 'target';
    document.body.append(frame);
    const form = document.createElement('form');
    Object.assign(form, { action: `${victim}/attack-form`, method: 'POST', target: 'target' });
    document.body.append(form);
    form.submit();
    setTimeout(() => done('sent'), 800);
  }));
  // The platform's own API with the visitor's session.
  told.portalRead = await settle(readable(`${portal}/api/v1/auth/whoami`));
  told.portalWrite = await settle(readable(`${portal}/api/v1/projects/${project}/service-accounts`, { method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{"name":"stolen","roles":[]}' }));
  told.portalSocket = await settle(new Promise((done) => { const socket = new WebSocket(`${portal.replace('http', 'ws')}/api/v1/projects/${project}/events/socket`); socket.onopen = () => done('open'); socket.onclose = () => done('closed'); }));
  // Our cookie, from a script: it cannot be read, replaced, or tossed at the neighbour.
  const name = '__Host-gpuaas_app_00000000';
  document.cookie = `${name}=tossed; Path=/; Secure; Domain=${location.hostname.split('.').slice(1).join('.')}`;
  // The session of the platform is host-only with HTTPS, so that a cookie for the whole domain cannot stand in its place.
  if (portal.startsWith('https:')) {
    for (const name of [session, session.replace('__Host-', '')]) document.cookie = `${name}=tossed; Path=/; Secure; Domain=${new URL(portal).hostname}`;
  }
  told.cookie = document.cookie.replace(`${session.replace('__Host-', '')}=tossed`, '');
  return told;
}

/** What the attacker is after; it may know how the platform's cookie is called. */
async function targets(context) {
  const { name } = (await context.cookies(portal)).find((cookie) => cookie.name.includes('gpuaas_session'));
  return { victim: apps.victim.origin, portal, project: project.id, session: name };
}

const ARRIVED = /attack-[a-z]+/g;

function judge(told, where) {
  for (const what of ['fetch', 'portalRead']) assert.match(told[what], /refused|nothing/, `${where}: ${what} ${told[what]}`);
  for (const what of ['image', 'script', 'style', 'worker']) assert.notEqual(told[what], 'loaded', `${where}: ${what}`);
  for (const what of ['socket', 'portalSocket']) assert.notEqual(told[what], 'open', `${where}: ${what}`);
  assert.doesNotMatch(told.cookie, /gpuaas/, `${where}: a cookie of ours can be read`);
}

test('an app in a tab of its own cannot use the visitor of another', { timeout: 120_000 }, async () => {
  await withTabs(async (page, context) => {
    await signIn(page, undefined, '/');
    const tabs = {};
    for (const name of ['victim', 'attacker']) {
      tabs[name] = await context.newPage();
      await tabs[name].goto(await enter(page, apps[name]));
    }
    await tabs.victim.evaluate(() => fetch('/control-own-page'));
    judge(await tabs.attacker.evaluate(attacks, await targets(context)), 'tab');
    assert.equal(await page.evaluate(async () => (await fetch('/api/v1/auth/whoami')).status), 200, 'the visitor is still signed in');
    // A plain navigation is all that is left: a popup shows the victim to the visitor, and the attacker cannot look inside.
    const popup = await tabs.attacker.evaluate(async (victim) => {
      const opened = window.open(`${victim}/plain-navigation`);
      await new Promise((done) => setTimeout(done, 1500));
      try { return opened === null ? 'none' : String(opened.document.title); } catch (error) { return `closed: ${error.name}`; }
    }, apps.victim.origin);
    assert.match(popup, /none|closed/);
  });
  const log = await seen();
  assert.deepEqual(log.match(ARRIVED) ?? [], [], 'nothing of it reached the victim\'s app');
  assert.match(log, /control-own-page/, 'what its own page sends does arrive, and is in the log');
  assert.equal((await api('GET', `/api/v1/projects/${project.id}/service-accounts`)).items.filter((one) => one.name === 'stolen').length, 0);
});

test('two apps framed by the platform cannot use each other\'s visitor', { timeout: 120_000 }, async () => {
  await withTabs(async (page, context) => {
    await signIn(page, undefined, '/');
    const addresses = [await enter(page, apps.victim), await enter(page, apps.attacker)];
    await page.evaluate((addresses) => {
      for (const address of addresses) {
        const frame = document.createElement('iframe');
        frame.src = address;
        document.body.append(frame);
      }
    }, addresses);
    const framed = (app) => page.frames().find((frame) => frame !== page.mainFrame() && frame.url().startsWith(app.origin));
    await until(async () => framed(apps.attacker) !== undefined && framed(apps.victim) !== undefined);
    judge(await framed(apps.attacker).evaluate(attacks, await targets(context)), 'frame');
    // The victim shows itself inside the platform only: not in a frame of the neighbour.
    const nested = await framed(apps.attacker).evaluate(async (victim) => {
      const frame = document.createElement('iframe');
      frame.src = `${victim}/nested`;
      document.body.append(frame);
      await new Promise((done) => { frame.onload = done; setTimeout(done, 2500); });
      try { return frame.contentDocument === null ? 'closed' : frame.contentDocument.title; } catch { return 'closed'; }
    }, apps.victim.origin);
    assert.equal(nested, 'closed');
    const inner = page.frames().find((frame) => frame.url().includes('/nested'));
    assert.equal(inner, undefined, 'the browser refused to show it');
  });
  assert.deepEqual((await seen()).match(ARRIVED) ?? [], [], 'nothing of it reached the victim\'s app');
});

/** Pages whose console is full of refusals, which is what these tests are about. */
async function withTabs(work) {
  const { context, page } = await newPage();
  try {
    await work(page, context);
  } catch (error) {
    await picture(page);
    throw error;
  } finally {
    await context.close();
  }
}
