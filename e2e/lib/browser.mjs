// A browser as people use it. Tests find things by role and name only. Whatever the page complains about (its own errors,
// what its policy refused, a host that is not ours) fails the test that was running.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { admin, appsHost, ownKey, portal, url } from './platform.mjs';

const PROGRAM = process.env.GPUAAS_E2E_BROWSER ?? '/usr/bin/chromium';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let shared = null;

async function browser() {
  const args = ['--no-sandbox', '--disable-dev-shm-usage'];
  // A domain of the tests: its names lead here, and of all unknown certificates the platform's own is believed.
  const [key, name] = [ownKey(), new URL(url).hostname];
  if (key) args.push(`--host-resolver-rules=MAP ${name} 127.0.0.1, MAP *.${name} 127.0.0.1`, `--ignore-certificate-errors-spki-list=${key}`);
  shared ??= await chromium.launch({ executablePath: PROGRAM, args });
  return shared;
}

export async function closeBrowser() {
  await shared?.close();
  shared = null;
}

/** A fresh browser profile with one page. `complaints` is what must stay empty; see `withPage`. */
export async function newPage(options = {}) {
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, baseURL: portal, ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(`error in the page: ${error.message}`));
  page.on('console', (message) => {
    // A refusal by status is the test's own business; everything else that is red is a fault.
    if (message.type() === 'error' && !/Failed to load resource|WebSocket connection to|net::ERR_/.test(message.text())) {
      complaints.push(`console: ${message.text()}`);
    }
  });
  page.on('request', (request) => {
    const host = new URL(request.url()).host;
    if (!request.url().startsWith('data:') && !isOurs(host)) complaints.push(`asked another host: ${request.url()}`);
  });
  return { context, page, complaints };
}

/** Ours are the platform itself and, for those who open apps, the names below the apps domain. */
function isOurs(host) {
  return host === new URL(url).host || host === new URL(portal).host || host.endsWith(`.${appsHost}`) || host === '';
}

/** What a page shows when its test fails, for who looks into it. */
export async function picture(page) {
  const shots = process.env.GPUAAS_E2E_SHOTS;
  if (shots) await page.screenshot({ path: `${shots}/failed-${Date.now()}.png` }).catch(() => {});
}

/** Runs with a page of its own and looks afterwards that the page had nothing to complain about. */
export async function withPage(options, work) {
  const { context, page, complaints } = await newPage(options);
  try {
    await work(page, context);
    assert.deepEqual(complaints, []);
  } catch (error) {
    await picture(page);
    throw error;
  } finally {
    await context.close();
  }
}

/** On the sign-in page, wherever that then leads. */
export async function fillSignIn(page, who = admin) {
  await page.getByLabel('E-mail').fill(who.email);
  await page.getByLabel('Password').fill(who.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Opens a page, again if the machine's network changed under it: Chromium drops what it loads when an interface of a container
 * comes or goes. */
async function visit(page, path) {
  let dropped = false;
  const notice = (request) => { dropped ||= request.failure()?.errorText === 'net::ERR_NETWORK_CHANGED'; };
  page.on('requestfailed', notice);
  await page.goto(path).catch((error) => {
    if (!/ERR_NETWORK_CHANGED/.test(error.message)) throw error;
  });
  page.off('requestfailed', notice);
  if (dropped) await page.goto(path);
}

export async function signIn(page, who = admin, path = '/') {
  await visit(page, path);
  await fillSignIn(page, who);
  await page.getByRole('button', { name: /^Account of/ }).waitFor();
}

/** Findings of axe that hinder people, as short lines. The policy allows no injected script, so it is evaluated instead. */
export async function hindrances(page, rules) {
  await page.evaluate(`globalThis.axe ?? (() => { ${axe} })()`);
  const options = { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) };
  const { violations } = await page.evaluate((wanted) => globalThis.axe.run(document, wanted), options);
  return violations
    .filter((one) => ['serious', 'critical'].includes(one.impact))
    .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target.join(' ')}: ${node.failureSummary.split('\n')[1]?.trim()}`));
}

/** Whether anything is wider than the window. */
export async function scrollsSideways(page) {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}

export const heading = (page, name) => page.getByRole('heading', { level: 1, name });
