import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, heading, signIn, withPage } from './lib/browser.mjs';
import { admin, signInLink } from './lib/platform.mjs';

after(closeBrowser);

// J-11, P-05.
test('the one-time link lands in the shell, and a second time on the sign-in page with a reason', async () => {
  const link = await signInLink();
  await withPage({}, async (page) => {
    await page.goto(link);
    await heading(page, /^Hello/).waitFor();
    assert.equal(new URL(page.url()).pathname, '/');
  });
  await withPage({}, async (page) => {
    await page.goto(link);
    await heading(page, 'Sign in').waitFor();
    await page.getByText('was used already or has expired').waitFor();
  });
});

test('a password signs in, a wrong one says so and gives nothing away', async () => {
  await withPage({}, async (page) => {
    await page.goto('/sign-in');
    await page.getByLabel('E-mail').fill(admin.email);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'invalid_credentials' }).waitFor();
    await page.getByLabel('Password').fill(admin.password);
    await page.keyboard.press('Enter');
    await heading(page, /^Hello/).waitFor();
  });
});

// J-11: expiry leads to the sign-in page and back to where one was.
test('who was elsewhere comes back there after an expired session, and to no other site', async () => {
  await withPage({}, async (page, context) => {
    await signIn(page, admin, '/workloads?ended=1');
    await heading(page, 'Workloads').waitFor();
    assert.match(page.url(), /\/workloads\?ended=1$/, 'where the link led');
    await context.clearCookies();
    await page.getByRole('link', { name: 'Allocations' }).click();
    await heading(page, 'Sign in').waitFor();
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('E-mail').fill(admin.email);
    await page.getByLabel('Password').fill(admin.password);
    await page.keyboard.press('Enter');
    await heading(page, 'Allocations').waitFor();
  });
  await withPage({}, async (page) => {
    await signIn(page, admin, '/sign-in?next=//evil.example/x');
    await heading(page, /^Hello/).waitFor();
    assert.equal(new URL(page.url()).pathname, '/');
  });
});

test('signing out ends the session in every tab', async () => {
  await withPage({}, async (page, context) => {
    await signIn(page);
    const other = await context.newPage();
    await other.goto('/catalog');
    await heading(other, 'Catalog').waitFor();
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    // The open event stream ends within seconds, and with it what the other tab shows.
    await heading(other, 'Sign in').waitFor({ timeout: 20_000 });
  });
});

// J-11: whoever could not be signed out is not told that they are.
test('a sign-out that did not happen says so', async () => {
  await withPage({}, async (page, context) => {
    await signIn(page);
    await context.route('**/api/v1/auth/logout', (route) => route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":{"code":"unavailable","message":"Try again."}}' }));
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('alert').getByText('You are still signed in.').waitFor();
    await context.unroute('**/api/v1/auth/logout');
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
  });
});
