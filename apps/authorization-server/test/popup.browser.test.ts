// requires: redis-server chromium
/** An application that signs its users in and out in a popup, as oidc-client-ts does. */
import { hash } from 'node:crypto';
import { type Constellation, integrationEngines, startConstellation } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { alice, authorizationUrl, bootstrap, browserApp, requestToken } from './fixtures.ts';

const verifier = 'a-verifier-of-the-popup-that-is-long-enough-for-pkce';
let browser: Browser;

beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
});
afterAll(() => browser.close());

/** The callback reports its address to the page that opened it, and closes itself. */
const application = `<!doctype html><title>Application</title><script>
  if (location.pathname !== '/') {
    window.opener?.postMessage(location.href, location.origin);
    window.close();
  }
</script>`;

/** Opens a popup as oidc-client-ts does, and resolves to the address that it reports. */
function openPopup(page: Page, url: string): Promise<string> {
  return page.evaluate(`new Promise((resolve) => {
    const popup = window.open('', 'popup', 'width=500,height=700');
    popup.location.replace(${JSON.stringify(url)});
    window.addEventListener('message', ({ data, source }) => {
      if (source === popup) {
        resolve(data);
      }
    });
  })`);
}

function newSystem(engine: (typeof integrationEngines)[number], profile: string) {
  const [first, ...others] = bootstrap.clients.filter(({ clientId }) => clientId === 'browser-app');
  const client = { ...first, postLogoutRedirectUris: [`${browserApp.origin}/signed-out`] };
  return startConstellation({
    engine,
    bootstrap: { ...bootstrap, clients: [client, ...others] },
    apps: ['authorization-server'],
    environment: { SECURITY_PROFILE: profile },
  });
}

describe.each(integrationEngines)('a popup in a real browser, over %s', (engine) => {
  let system: Constellation;

  beforeAll(async () => {
    system = await newSystem(engine, 'compatible');
  });
  afterAll(() => system.stop());

  test('returns to its opener after sign-in, consent and sign-out', async () => {
    const issuer = system.authorizationServerUrl;
    const context = await browser.newContext();
    await context.route(`${browserApp.origin}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: application }),
    );
    const page = await context.newPage();
    await page.goto(`${browserApp.origin}/`);

    const popup = context.waitForEvent('page');
    const reported = openPopup(
      page,
      authorizationUrl(issuer, {
        client_id: browserApp.clientId,
        redirect_uri: browserApp.redirectUri,
        scope: 'openid device:read',
        code_challenge: hash('sha256', verifier, 'base64url'),
        code_challenge_method: 'S256',
        state: 'popup',
      }),
    );
    const pages = await popup;
    await pages.getByLabel('Username').fill(alice.username);
    await pages.getByLabel('Password').fill(alice.password);
    await pages.getByRole('button', { name: 'Sign in' }).click();
    await pages.getByRole('button', { name: 'Allow' }).click();
    const callback = new URL(await reported);
    expect(callback.searchParams.get('state')).toBe('popup');
    const { status, body } = await requestToken(
      issuer,
      {
        grant_type: 'authorization_code',
        code: callback.searchParams.get('code') ?? '',
        redirect_uri: browserApp.redirectUri,
        client_id: browserApp.clientId,
        code_verifier: verifier,
      },
      {},
    );
    expect([status, body.scope]).toEqual([200, 'openid device:read']);

    const secondPopup = context.waitForEvent('page');
    const parameters = new URLSearchParams({
      id_token_hint: body.id_token,
      post_logout_redirect_uri: `${browserApp.origin}/signed-out`,
    });
    const signedOut = openPopup(page, `${issuer}/logout?${parameters}`);
    await (await secondPopup).getByRole('button', { name: 'Sign out' }).click();
    expect(await signedOut).toBe(`${browserApp.origin}/signed-out`);
    await context.close();
  });

  test('keeps its opener only in the pages of a sign-in or sign-out', async () => {
    const issuer = system.authorizationServerUrl;
    const policyOf = async (path: string, server = issuer) =>
      (await fetch(server + path, { redirect: 'manual' })).headers.get(
        'cross-origin-opener-policy',
      );
    for (const path of ['/authorize?client_id=web', '/sign-in/unknown', '/logout']) {
      expect([path, await policyOf(path)]).toEqual([path, null]);
    }
    for (const path of ['/', '/account', '/account/password', '/device', '/none', '/sign-inn']) {
      expect([path, await policyOf(path)]).toEqual([path, 'same-origin']);
    }
  });
});

test('the strict profile separates every page from its opener', async () => {
  const system = await newSystem('sqlite', 'strict');
  for (const path of ['/authorize?client_id=web', '/sign-in/unknown', '/logout', '/account']) {
    const { headers } = await fetch(system.authorizationServerUrl + path, { redirect: 'manual' });
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
  }
  await system.stop();
});
