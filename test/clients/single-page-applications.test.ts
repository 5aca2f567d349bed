/** oidc-client-ts in Chromium: by redirect and in a popup, with both kinds of silent renewal. */
import { type Constellation, freePort, startConstellation, until } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { alice, bootstrapOf, signInAndAllow } from './sign-in-and-allow.ts';
import { type Application, startApplication } from './start-application.ts';

/** Shorter than the test, so that a failure shows the step. */
const STEP_MILLISECONDS = 10_000;

const libraries = ['oidc-client-ts-2', 'oidc-client-ts-3'];
/** Without a refresh token, the library renews with prompt=none in an iframe. */
const renewals = [
  { renewal: 'an iframe', grantTypes: ['authorization_code'] },
  { renewal: 'a refresh token', grantTypes: ['authorization_code', 'refresh_token'] },
];
const applications = libraries.flatMap((library) =>
  renewals.map(({ renewal, grantTypes }) => ({
    library,
    renewal,
    grantTypes,
    clientId: `${library}-${grantTypes.length}`,
  })),
);

let system: Constellation;
let browser: Browser;
const ports = new Map<string, number>();

beforeAll(async () => {
  const clients = [];
  for (const { clientId, grantTypes } of applications) {
    const port = await freePort();
    ports.set(clientId, port);
    const origin = `http://localhost:${port}`;
    clients.push({
      clientId,
      grantTypes,
      public: true,
      corsOrigins: [origin],
      redirectUris: [`${origin}/callback`],
      postLogoutRedirectUris: [`${origin}/`],
    });
  }
  [system, browser] = await Promise.all([
    startConstellation({
      engine: 'sqlite',
      bootstrap: bootstrapOf(clients),
      apps: ['authorization-server'],
    }),
    launchBrowser(),
  ]);
});
afterAll(async () => {
  await browser.close();
  await system.stop();
});

describe.each(applications)('$library, which renews with $renewal', (definition) => {
  const { clientId, library, grantTypes } = definition;
  let application: Application;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    application = await startApplication([process.execPath, 'oidc-client-ts.mjs'], {
      ISSUER: system.authorizationServerUrl,
      CLIENT_ID: clientId,
      LIBRARY: library,
      PORT: String(ports.get(clientId)),
    });
  });
  afterAll(() => application.stop());

  beforeEach(async () => {
    context = await browser.newContext();
    context.setDefaultTimeout(STEP_MILLISECONDS);
    page = await context.newPage();
    await page.goto(`http://localhost:${ports.get(clientId)}/`);
  });
  afterEach(() => context.close());

  const click = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const seesUser = () => page.getByText(`Signed in as ${alice.name}, ${alice.email}.`).waitFor();
  const token = () => page.locator('body').getAttribute('data-token');

  async function renew(): Promise<void> {
    const before = await token();
    const renewing = page.waitForRequest((request) => isRenewal(request.url(), request.postData()));
    await click('Renew');
    await renewing;
    await until(async () => (await token()) !== before);
    await seesUser();
  }

  function isRenewal(url: string, body: string | null): boolean {
    return grantTypes.includes('refresh_token')
      ? body?.includes('grant_type=refresh_token') === true
      : new URL(url).searchParams.get('prompt') === 'none';
  }

  test('signs in by redirect, renews silently, and signs out', async () => {
    await click('Sign in');
    await signInAndAllow(page);
    await seesUser();
    await renew();
    await click('Sign out');
    await page.waitForURL(`${system.authorizationServerUrl}/**`);
    await click('Sign out');
    await page.getByText('Signed out.').waitFor();
    expect(await token()).toBeNull();
  });

  test('signs in in a popup, and renews silently', async () => {
    const opening = context.waitForEvent('page');
    await click('Sign in in a popup');
    await signInAndAllow(await opening);
    await seesUser();
    await renew();
  });
});
