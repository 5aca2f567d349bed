/** oidc-client-ts in Chromium: by redirect and in a popup, with both kinds of silent renewal. */
import { freePort, until } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { alice, signInAndAllow, startServerFor } from './sign-in-and-allow.ts';
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

const ports = new Map<string, number>();
for (const { clientId } of applications) {
  ports.set(clientId, await freePort());
}
const originOf = (clientId: string) => `http://localhost:${ports.get(clientId)}`;
const system = await startServerFor(
  applications.map(({ clientId, grantTypes }) => {
    const origin = originOf(clientId);
    const redirectUris = [`${origin}/callback`];
    const postLogoutRedirectUris = [`${origin}/`];
    const addresses = { corsOrigins: [origin], redirectUris, postLogoutRedirectUris };
    return { clientId, grantTypes, public: true, ...addresses };
  }),
);
const browser = await launchBrowser();
afterAll(() => browser.close());

describe.each(applications)(
  '$library, which renews with $renewal',
  ({ clientId, library, grantTypes }) => {
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
      await page.goto(`${originOf(clientId)}/`);
    });
    afterEach(() => context.close());

    const click = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const seesUser = () => page.getByText(`Signed in as ${alice.name}, ${alice.email}.`).waitFor();
    const token = () => page.locator('body').getAttribute('data-token');

    async function renew(): Promise<void> {
      const before = await token();
      const renewing = page.waitForRequest((request) =>
        isRenewal(request.url(), request.postData()),
      );
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
  },
);
