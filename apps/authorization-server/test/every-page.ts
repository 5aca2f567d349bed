/** Visits every page in a browser, for tests of what all pages have in common. */
import type { Page } from 'playwright-core';
import { alice } from './installation.ts';
import type { System } from './server.ts';

type Server = Pick<System['first'], 'issuer' | 'authorizationUrl' | 'startDevice'>;

export async function signIn(page: Page, password: string): Promise<void> {
  await page.locator('#username').fill(alice.username);
  await page.locator('#password').fill(password);
  await page.locator('button.primary').click();
}

/**
 * Visits every page, in the language of the browser, and calls `look` on each. A new page gets a
 * line here.
 */
export async function visitPages(
  page: Page,
  { issuer, authorizationUrl, startDevice }: Server,
  look: (name: string) => Promise<void>,
): Promise<void> {
  const open = async (name: string, path: string) => {
    await page.goto(issuer + path);
    await look(name);
  };
  const press = async (selector: string, next: string, name: string) => {
    await page.locator(selector).first().click();
    await page.locator(next).waitFor();
    await look(name);
  };
  await open('welcome', '/');
  await open('signed out everywhere', '/account/signed-out');
  await open('cookies blocked', '/sign-in/unknown');
  await page.goto(authorizationUrl());
  await look('sign-in');
  await signIn(page, 'not the password');
  await page.locator('#problem').waitFor();
  await look('failed sign-in');
  await signIn(page, alice.password);
  await page.locator('form.choice').waitFor();
  await look('consent');
  await press('.person a', '#username', 'another account');
  await page.goBack();
  // No application runs at its address, so the browser shows an error page.
  const landing = page.waitForEvent('framenavigated', (frame) =>
    frame.url().startsWith('chrome-error:'),
  );
  await page.locator('button.primary').click({ noWaitAfter: true });
  await landing;
  await page.goto(authorizationUrl({ prompt: 'select_account' }));
  await look('choice of an account');
  await page.route('**/assets/submit-form.js', (route) => route.abort());
  await page.goto(authorizationUrl({ response_mode: 'form_post' }));
  await look('form for the application');
  await page.unrouteAll();
  await visitDevicePages(press, async () => {
    await page.goto((await startDevice()).verification_uri_complete ?? '');
  });
  await open('account', '/account');
  await press('.application button', '.success', 'access ended');
  await open('question before signing out everywhere', '/account/sign-out-everywhere');
  await open('password', '/account/password');
  await page.locator('#current').fill('not the password');
  await page.locator('#wanted').fill('a new long password');
  await page.locator('#repeated').fill('a new long password');
  await press('button.primary', '#problem', 'wrong password');
  await open('expired', '/sign-in/unknown');
  await open('not found', '/no-such-page');
  await open('bad request', '/authorize?client_id=nobody');
  await open('logout', '/logout');
  await press('button.primary', 'a[href="/account"]', 'signed out');
}

async function visitDevicePages(
  press: (selector: string, next: string, name: string) => Promise<void>,
  openDevice: () => Promise<void>,
): Promise<void> {
  await openDevice();
  await press('button.primary', 'output', 'device confirmation');
  await press('[name=abort]', 'a[href="/device"]', 'device stopped');
  await press('a[href="/device"]', '#user_code', 'device');
  await openDevice();
  await press('button.primary', 'output', 'device confirmation again');
  await press('[name=confirm]', 'form.choice', 'device consent');
  await press('button.primary', '.success', 'device connected');
}
