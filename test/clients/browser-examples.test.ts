/** The programs of examples/ with pages, in Chromium, registered and started as their guides say. */
import { freePort } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { demoDevice, startExampleStack } from './example-stack.ts';
import { alice, signInAndAllow } from './sign-in-and-allow.ts';
import type { Application } from './start-application.ts';

/** Shorter than the test, so that a failure shows the step. */
const STEP_MILLISECONDS = 10_000;

const stack = await startExampleStack();
const browser = await launchBrowser();
afterAll(() => browser.close());
let context: BrowserContext;
let page: Page;

beforeEach(async () => {
  context = await browser.newContext();
  context.setDefaultTimeout(STEP_MILLISECONDS);
  page = await context.newPage();
});
afterEach(() => context.close());

/** Registers and starts an example with the port of the test in place of that of its guide. */
async function startExample(name: string, guidePort: number) {
  const port = await freePort();
  stack.register(name, { [guidePort]: port });
  const application = await stack.start(name, { PORT: String(port) }, 'Open');
  return { application, address: `http://localhost:${port}` };
}

const sees = (text: string) => page.getByText(text).waitFor();

describe('the Express web application', () => {
  let application: Application;
  let address: string;

  beforeAll(async () => {
    ({ application, address } = await startExample('express-web-application', 3000));
  });
  afterAll(() => application.stop());

  const click = (name: string) => page.getByRole('link', { name }).click();

  test('signs the user in, lists the devices of the user, and signs out', async () => {
    await page.goto(address);
    await click('Sign in');
    await signInAndAllow(page);
    await sees(`Signed in as ${alice.name}.`);
    await click('Devices');
    await sees(demoDevice.name);
    await page.goBack();
    await click('Sign out');
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    await page.goto(`${address}/devices`);
    await page.getByLabel('Username').waitFor();
  });

  test('sends the user back to the page that needs a sign-in, with an encrypted cookie', async () => {
    await page.goto(`${address}/devices`);
    await signInAndAllow(page);
    await sees(demoDevice.name);
    expect(page.url()).toBe(`${address}/devices`);
    const cookies = await context.cookies(address);
    const [session] = cookies.filter(({ name }) => name === 'appSession');
    expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax' });
    // A JWE with direct encryption has an empty second part.
    expect(session?.value).toMatch(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  /** Starts a sign-in and returns its state, which is in the address of the first redirect. */
  async function startSignIn(): Promise<string> {
    const starting = page.waitForRequest((request) => request.url().includes('/authorize?'));
    await page.goto(`${address}/login`);
    return new URL((await starting).url()).searchParams.get('state') ?? '';
  }

  test('rejects the code of another user, which an attacker sends to this browser', async () => {
    const attacker = await browser.newContext();
    const theirs = await attacker.newPage();
    const returning = theirs.waitForRequest((request) => request.url().includes('/callback?'));
    await theirs.route('**/callback?*', (route) => route.abort());
    await theirs.goto(`${address}/login`);
    await signInAndAllow(theirs).catch(() => undefined);
    const stolen = (await returning).url();
    await attacker.close();

    await startSignIn();
    expect((await page.goto(stolen))?.status()).toBe(400);
    await page.goto(address);
    await sees('Signed out.');
  });

  test('shows the error of a sign-in as text, never as HTML', async () => {
    const state = await startSignIn();
    const iss = stack.system.authorizationServerUrl;
    const error = { state, iss, error: 'access_denied', error_description: '<b>no</b>' };
    const reply = await page.goto(`${address}/callback?${new URLSearchParams(error)}`);
    expect(await reply?.text()).toContain('&#60;b&#62;no');
  });
});

describe('the single-page application', () => {
  let application: Application;
  let address: string;

  beforeAll(async () => {
    ({ application, address } = await startExample('single-page-application', 3001));
  });
  afterAll(() => application.stop());

  const click = (name: string) => page.getByRole('button', { name, exact: true }).click();

  async function signIn(): Promise<void> {
    await page.goto(address);
    await click('Sign in');
    await signInAndAllow(page);
    await sees(`Signed in as ${alice.name}.`);
  }

  test('signs the user in, lists the devices of the user, and signs out', async () => {
    await signIn();
    await sees(demoDevice.name);
    expect(page.url()).toBe(`${address}/`);
    await click('Sign out');
    await click('Sign in');
    await page.getByLabel('Username').waitFor();
  });

  test('signs in again after a reload without a form', async () => {
    await signIn();
    await page.reload();
    await sees('Signed out.');
    await click('Sign in');
    await sees(`Signed in as ${alice.name}.`);
  });

  test('stores no token and no code in the browser', async () => {
    const bodies: Promise<string>[] = [];
    page.on('response', (reply) => {
      if (new URL(reply.url()).pathname === '/token' && reply.request().method() === 'POST') {
        bodies.push(reply.text());
      }
    });
    await signIn();
    const [tokens = ''] = await Promise.all(bodies);
    const { access_token: accessToken, refresh_token: refreshToken } = JSON.parse(tokens);
    expect([accessToken, refreshToken]).toEqual([expect.any(String), expect.any(String)]);
    const stored = await page.evaluate(
      '[{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]',
    );
    expect(stored).toEqual([{}, {}, '', `${address}/`]);
  });

  test('rejects a code that does not belong to a sign-in of this browser', async () => {
    await page.goto(`${address}/callback?code=stolen&state=forged`);
    await sees('Error: No matching state found in storage');
  });

  test('sends requests to no other server', async () => {
    await page.goto(address);
    const send = (url: string) =>
      page.evaluate(
        (target) => fetch(target, { mode: 'no-cors' }).then(({ type }) => type, String),
        url,
      );
    expect(await send(stack.system.gatewayUrl)).toBe('opaque');
    expect(await send(stack.system.deviceServiceUrl)).toContain('TypeError');
  });
});
