// requires: chromium

import { hash } from 'node:crypto';
import { knownScopes } from '@gatehouse/identity';
import { createPageVisitor, type PageVisitor } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Browser, BrowserContext, Frame, Page } from 'playwright-core';
import { alice, bob, browserApp, tv, web } from './installation.ts';
import { outcome, startServers, type User } from './server.ts';

const { authorizationUrl, get, issuer, land, open, poll, redeem, startDevice } = (
  await startServers()
).first;
const browser = await launchBrowser();
afterAll(() => browser.close());

/** Opens a browser. It reports violations of the Content-Security-Policy on the console. */
async function openBrowser(options: Parameters<Browser['newContext']>[0] = {}) {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, ...options });
  const page = await context.newPage();
  const refusals: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') {
      refusals.push(message.text());
    }
  });
  return { context, page, refusals };
}

/** Signs in without the browser, for tests of other pages. A page in the browser takes a second. */
async function openSignedInBrowser(options: Parameters<typeof openBrowser>[0] = {}) {
  const visitor = createPageVisitor();
  await open(visitor, '/account');
  const opened = await openBrowser(options);
  await addCookies(opened.context, visitor);
  return { ...opened, visitor };
}

async function addCookies(context: BrowserContext, { cookies }: PageVisitor): Promise<void> {
  await context.addCookies(
    [...cookies].map(([key, value]) => {
      const [name = '', path = '/'] = key.split('|');
      return { name, value, domain: new URL(issuer).hostname, path };
    }),
  );
}

const isErrorPage = (frame: Frame) => frame.url().startsWith('chrome-error:');

/**
 * Presses a button that leads to the application, and returns the address with which the browser
 * requests it. No application runs there.
 */
async function pressAndLand(page: Page, name: string): Promise<URL> {
  const landing = page.waitForRequest('https://app.example/**');
  // Without waiting for it, the error page would interrupt the next navigation.
  const errorPage = page.waitForEvent('framenavigated', isErrorPage);
  await page.getByRole('button', { name }).click({ noWaitAfter: true });
  const address = (await landing).url();
  await errorPage;
  return new URL(address);
}

async function signIn(page: Page, user: User): Promise<void> {
  await page.getByLabel('Username').fill(user.username);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, level: 1 }).waitFor();

describe('a user in a real browser', () => {
  test.each([
    ['on a phone', { width: 360, height: 740 }, true],
    ['on a desktop, without script', { width: 1280, height: 800 }, false],
  ])(
    'signs in after an error, and allows access: %s',
    async (_name, viewport, javaScriptEnabled) => {
      const { context, page, refusals } = await openBrowser({ viewport, javaScriptEnabled });
      await page.goto(authorizationUrl({ state: 'from-the-browser' }));
      expect(await page.title()).toBe('Sign in · Gatehouse');
      await signIn(page, { ...alice, password: 'not the password' });
      expect(await page.getByRole('alert').textContent()).toContain('do not match');
      expect(await page.getByLabel('Username').inputValue()).toBe(alice.username);
      await signIn(page, alice);
      await heading(page, 'Example web application asks for access');
      const landing = await pressAndLand(page, 'Allow');
      expect(landing.searchParams.get('state')).toBe('from-the-browser');
      expect((await redeem(landing.searchParams.get('code') ?? '')).status).toBe(200);
      expect(refusals).toEqual([]);
      await context.close();
    },
  );

  test('connects a device by its link without JavaScript', async () => {
    const { context, page, refusals } = await openBrowser({ javaScriptEnabled: false });
    const device = await startDevice();
    await page.goto(device.verification_uri_complete ?? '');
    expect(await page.getByLabel('Code').inputValue()).toBe(device.user_code);
    await page.getByRole('button', { name: 'Continue' }).click();
    await heading(page, 'Is this your device?');
    expect(await page.getByText('Application ID').textContent()).toContain(tv.clientId);
    await page.getByRole('button', { name: 'Yes, the codes match' }).click();
    await signIn(page, alice);
    await heading(page, `${tv.name} asks for access`);
    await page.getByRole('button', { name: 'Allow' }).click();
    await heading(page, 'Your device is connected');
    expect((await poll(device)).status).toBe(200);
    expect(refusals).toEqual([]);
    await context.close();
  });

  test('sees an application at the account page, revokes its access, and changes the password', async () => {
    const { context, page, refusals } = await openBrowser();
    await page.goto(authorizationUrl({ scope: 'device:read' }));
    await signIn(page, bob);
    await pressAndLand(page, 'Allow');
    await page.goto(`${issuer}/account`);
    await heading(page, 'Your account');
    await page.getByRole('button', { name: 'End access of Example web application' }).click();
    await page.getByText('The access was ended.').waitFor();
    await page.getByText('No application has access to your account.').waitFor();

    await page.getByRole('link', { name: 'Change password' }).click();
    await page.getByLabel('Current password').fill(bob.password);
    await page.getByLabel('New password', { exact: true }).fill('yet another password');
    await page.getByLabel('New password again').fill('yet another password');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Your password was changed.').waitFor();
    await page.getByRole('link', { name: 'Sign out everywhere' }).click();
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await heading(page, 'You are signed out everywhere');
    expect(refusals).toEqual([]);
    await context.close();
  });

  test('signs out, and Back shows no personal data', async () => {
    const { context, page, refusals } = await openSignedInBrowser();
    await page.goto(`${issuer}/account`);
    await page.getByText('Alice Example').waitFor();
    await page.getByRole('link', { name: 'Sign out', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'You are signed out');
    for (let step = 0; step < 2; step += 1) {
      await page.goBack();
      expect(await page.content()).not.toContain('Alice');
    }
    expect(refusals).toEqual([]);
    await context.close();
  });

  test('returns to the application after signing out', async () => {
    const { context, page, refusals } = await openSignedInBrowser();
    const back = encodeURIComponent('https://app.example/signed-out');
    await page.goto(`${issuer}/logout?client_id=web&post_logout_redirect_uri=${back}&state=s1`);
    const landing = await pressAndLand(page, 'Sign out');
    expect(landing.href).toBe('https://app.example/signed-out?state=s1');
    expect(refusals).toEqual([]);
    await context.close();
  });

  test('signs in with the longest parameters, in one of many tabs', async () => {
    const { context, page, refusals } = await openBrowser();
    await page.goto(authorizationUrl({ login_hint: 'h'.repeat(2950), state: 's'.repeat(900) }));
    const otherTab = await context.newPage();
    for (let i = 0; i < 5; i += 1) {
      await otherTab.goto(authorizationUrl({ login_hint: 'x'.repeat(3700) }));
    }
    await otherTab.close();
    await signIn(page, alice);
    const landing = await pressAndLand(page, 'Allow');
    expect(landing.searchParams.get('state')).toBe('s'.repeat(900));
    expect(refusals).toEqual([]);
    // The application does not run. Only the error page of the browser has an entry to go back from.
    await page.waitForFunction('location.protocol === "chrome-error:"');
    await page.goBack();
    await heading(page, 'Back to the application');
    const link = page.getByRole('link', { name: 'Continue' });
    expect(await link.getAttribute('href')).toBe('https://app.example/');
    await context.close();
  });

  test('sees the password while its button is on, and sends it as a password', async () => {
    const { context, page, refusals } = await openBrowser();
    await page.goto(authorizationUrl());
    const [field, button] = [page.locator('#password'), page.locator('button.reveal')];
    await field.fill('not the password');
    await button.click();
    expect([await field.getAttribute('type'), await button.getAttribute('aria-pressed')]).toEqual([
      ...['text', 'true'],
    ]);
    await page.getByRole('button', { name: 'Show password' }).press('Enter');
    expect(await field.getAttribute('type')).toBe('password');
    await button.click();
    // The page stays, as it was when the form was sent.
    await page.route('**/credentials', (route) => route.fulfill({ status: 204 }));
    await page.getByLabel('Username').fill(alice.username);
    await page.getByLabel('Username').press('Enter');
    await page.locator('#password[type=password]').waitFor();
    expect(refusals.filter((line) => line.includes('Content Security Policy'))).toEqual([]);
    await context.close();
  });

  test.each([true, false])(
    'chooses a language in the menu, with script: %s',
    async (javaScriptEnabled) => {
      const { context, page, refusals } = await openBrowser({ javaScriptEnabled });
      await page.goto(authorizationUrl({ ui_locales: 'en' }));
      expect(await page.locator('button.reveal').isVisible()).toBe(javaScriptEnabled);
      const address = page.url();
      await page.locator('summary').click();
      await page.getByRole('button', { name: '简体中文' }).click();
      await heading(page, '登录');
      expect(page.url()).toBe(address);
      await page.getByLabel('用户名').fill(alice.username);
      await page.getByLabel('密码').fill('not the password');
      await page.getByRole('button', { name: '登录' }).click();
      await page.getByRole('alert').waitFor();
      await heading(page, '登录');
      expect(refusals).toEqual([]);
      await context.close();
    },
  );

  test('uses another account without a page that submits itself', async () => {
    const { context, page, refusals } = await openSignedInBrowser();
    await page.goto(authorizationUrl());
    await page.getByRole('link', { name: 'Use another account' }).click();
    const { username, password } = { ...bob, password: 'yet another password' };
    await signIn(page, { username, password });
    await page.getByText('Bob <Example>').waitFor();
    const landing = await pressAndLand(page, 'Allow');
    expect(landing.href.startsWith(web.redirectUri)).toBe(true);
    expect(refusals).toEqual([]);
    await context.close();
  });
});

/** An application signs its users in and out in a popup, as oidc-client-ts does. */
describe('a popup', () => {
  const { origin, clientId: client_id, redirectUri: redirect_uri } = browserApp;
  /** The callback reports its address to the page that opened it, and closes itself. */
  const application = `<!doctype html><title>Application</title><script>
    if (location.pathname !== '/') {
      window.opener?.postMessage(location.href, location.origin);
      window.close();
    }
  </script>`;

  /** Opens a popup as oidc-client-ts does. Its promise resolves to the address that it reports. */
  async function openPopup(page: Page, url: string) {
    const popup = page.waitForEvent('popup');
    const reported: Promise<string> = page.evaluate(`new Promise((resolve) => {
      const popup = window.open('', 'popup', 'width=500,height=700');
      popup.location.replace(${JSON.stringify(url)});
      window.addEventListener('message', ({ data, source }) => {
        if (source === popup) {
          resolve(data);
        }
      });
    })`);
    return { popup: await popup, reported };
  }

  test('returns to its opener after sign-in, consent and sign-out', async () => {
    const { context, page } = await openBrowser();
    await context.route(`${origin}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: application }),
    );
    await page.goto(`${origin}/`);
    const code_verifier = 'v'.repeat(43);
    const code_challenge = hash('sha256', code_verifier, 'base64url');
    const url = authorizationUrl({
      ...{ client_id, redirect_uri, scope: 'openid device:read', state: 'popup' },
      ...{ code_challenge, code_challenge_method: 'S256' },
    });
    const { popup, reported } = await openPopup(page, url);
    await signIn(popup, alice);
    await popup.getByRole('button', { name: 'Allow' }).click();
    const { searchParams } = new URL(await reported);
    expect(searchParams.get('state')).toBe('popup');
    const redemption = { redirect_uri, client_id, code_verifier };
    const { status, body } = await redeem(searchParams.get('code') ?? '', redemption, {});
    expect([status, body.scope]).toEqual([200, 'openid device:read']);

    const post_logout_redirect_uri = `${origin}/signed-out`;
    const parameters = { id_token_hint: body.id_token, post_logout_redirect_uri };
    const leaving = await openPopup(page, `${issuer}/logout?${new URLSearchParams(parameters)}`);
    expect(await leaving.reported).toBe(post_logout_redirect_uri);
    await context.close();
  });

  test.each([
    ...['/authorize?client_id=web', '/sign-in/unknown', '/logout'].map((path) => [path, null]),
    ...['/', '/account', '/account/password', '/device', '/none', '/sign-inn'].map((path) => [
      path,
      'same-origin',
    ]),
  ])('keeps its opener only in the pages of a sign-in or sign-out: %s', async (path, policy) => {
    const { headers } = await get(path ?? '');
    expect(headers.get('cross-origin-opener-policy')).toBe(policy);
  });
});

describe('the address {auth_url}/#/user/login', () => {
  const open = async (hash: string, options: Parameters<typeof openBrowser>[0] = {}) => {
    const opened = await openBrowser(options);
    await opened.page.goto(`${issuer}/${hash}`);
    return opened;
  };
  const query = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString();

  test('leads to the sign-in with exactly the supported parameters', async () => {
    const state = 'a b+c/ü?&=#%';
    const verifier = 'v'.repeat(43);
    const given = {
      response_type: 'code',
      client_id: 'web',
      redirect_uri: web.redirectUri,
      state,
      scope: 'openid device:read',
      nonce: 'nonce of the browser',
      code_challenge: hash('sha256', verifier, 'base64url'),
      code_challenge_method: 'S256',
    };
    const extra = { prompt: 'none', ui_locales: 'zh-CN', login_hint: 'mallory' };
    const { context, page, refusals } = await open(`#/user/login?${query({ ...given, ...extra })}`);
    await heading(page, 'Sign in');
    expect(await page.getByLabel('Username').inputValue()).toBe('');
    await signIn(page, alice);
    const landing = await pressAndLand(page, 'Allow');
    expect(landing.href.startsWith(web.redirectUri)).toBe(true);
    expect(landing.searchParams.get('state')).toBe(state);
    const code = landing.searchParams.get('code') ?? '';
    expect(outcome(await redeem(code))).toEqual([400, 'invalid_grant']);
    const { body } = await redeem(code, { code_verifier: verifier });
    expect(body.scope.split(' ')).toEqual(expect.arrayContaining(['openid', 'device:read']));
    expect(decodeJwt(body.id_token).nonce).toBe(given.nonce);
    expect(refusals).toEqual([]);
    await context.close();
  });

  test('leads to the sign-in of the account page without parameters', async () => {
    const { context, page, refusals } = await open('#/user/login');
    await signIn(page, alice);
    await heading(page, 'Your account');
    expect(refusals).toEqual([]);
    await context.close();
  });

  test('ignores markup and other addresses in the hash', async () => {
    const attacks = [
      '#/user/login<img src=x onerror=alert(1)>',
      '#//evil.example/user/login',
      '#javascript:alert(1)',
      `#/user/login?${query({ client_id: '<script>alert(1)</script>', redirect_uri: 'javascript:alert(1)' })}`,
    ];
    const { context, page } = await openBrowser();
    let dialogs = 0;
    page.on('dialog', () => {
      dialogs += 1;
    });
    for (const attack of attacks) {
      await page.goto('about:blank');
      await page.goto(`${issuer}/${attack}`);
      await page.waitForTimeout(50);
      expect([attack, dialogs, new URL(page.url()).origin]).toEqual([attack, 0, issuer]);
      expect(await page.locator('main img, main script').count()).toBe(0);
    }
    await context.close();
  });

  test('offers the account page without JavaScript', async () => {
    const { context, page } = await open('#/user/login', { javaScriptEnabled: false });
    const hint = page.locator('noscript p');
    await hint.waitFor();
    expect(await hint.textContent()).toContain('Its link needs JavaScript.');
    await page.getByRole('link', { name: 'Go to your account' }).click();
    await signIn(page, alice);
    await heading(page, 'Your account');
    await context.close();
  });
});

describe('every page, for WCAG 2.2 AA,', () => {
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    const opened = await openSignedInBrowser({ viewport: { width: 320, height: 640 } });
    ({ context, page } = opened);
    await land({}, alice, opened.visitor);
    await addCookies(context, opened.visitor);
  });
  afterAll(() => context.close());

  const addresses = [
    ...['/', '/account', '/account/password', '/logout', '/device?user_code=BCDF-GHJK'],
    ...['/logout/success', '/no-such-page'],
    `/authorize?response_type=code&client_id=web&prompt=consent&redirect_uri=${encodeURIComponent(web.redirectUri)}`,
    `/authorize?response_type=code&client_id=web&prompt=login&redirect_uri=${encodeURIComponent(web.redirectUri)}`,
  ];

  test.each(addresses)(
    'fits into 320 px, also with wide text spacing (1.4.10, 1.4.12), has touch targets of 44 px (2.5.8), and shows the focus (2.4.7): %s',
    async (path) => {
      await page.goto(issuer + path);
      const overflow = () =>
        page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);
      expect(await overflow()).toBe(0);
      // The target of a checkbox is its whole label.
      const targets = page.locator(
        'button:visible, .button, .person a, .check, summary, .foot a, input:not([type=hidden], .check *, [tabindex="-1"])',
      );
      expect(await targets.count()).toBeGreaterThan(0);
      for (const target of await targets.all()) {
        const box = await target.boundingBox();
        expect(Math.min(box?.height ?? 0, box?.width ?? 0)).toBeGreaterThanOrEqual(44);
      }
      await page.keyboard.press('Tab');
      const outline = await page.locator(':focus').evaluate((element) => {
        const { getComputedStyle } = globalThis as unknown as {
          getComputedStyle(of: unknown): { outlineStyle: string; outlineWidth: string };
        };
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        return `${outlineStyle} ${outlineWidth}`;
      });
      expect(outline).toBe('solid 3px');
      // A user stylesheet would do this. Styles on elements do not need the page's policy.
      await page.locator('main *').evaluateAll((elements) => {
        for (const { style } of elements as { style: Record<string, string> }[]) {
          Object.assign(style, {
            lineHeight: '1.5',
            letterSpacing: '0.12em',
            wordSpacing: '0.16em',
          });
        }
      });
      expect(await overflow()).toBe(0);
    },
  );

  test('shows the whole consent for every scope in a window of 1280 × 800', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(authorizationUrl({ prompt: 'consent', scope: knownScopes.join(' ') }));
    await heading(page, 'Example web application asks for access');
    expect(await page.locator('.scopes li').count()).toBe(knownScopes.length);
    const shown = await page.locator('html').evaluate((html) => html.scrollHeight);
    expect(shown).toBeLessThanOrEqual(800);
  });

  test('shows the buttons on a phone in landscape, also after a failed sign-in', async () => {
    // An iPhone SE, below the address bar of Safari.
    await page.setViewportSize({ width: 667, height: 331 });
    const bottomOf = async (name: string) => {
      const box = await page.getByRole('button', { name }).boundingBox();
      return (box?.y ?? Number.NaN) + (box?.height ?? 0);
    };
    await page.goto(authorizationUrl({ prompt: 'login' }));
    expect(await bottomOf('Sign in')).toBeLessThanOrEqual(331);
    await signIn(page, { username: 'nobody', password: 'wrong password' });
    await page.getByRole('alert').waitFor();
    expect(await bottomOf('Sign in')).toBeLessThanOrEqual(331);
    await page.goto(authorizationUrl({ prompt: 'consent', scope: knownScopes.join(' ') }));
    expect(await bottomOf('Allow')).toBeLessThanOrEqual(331);
  });

  test('accepts a pasted password', async () => {
    await page.goto(authorizationUrl({ prompt: 'login' }));
    await page.getByLabel('Username').fill('pasted text');
    await page.getByLabel('Username').press('Control+A');
    await page.getByLabel('Username').press('Control+C');
    await page.getByLabel('Password').focus();
    await page.keyboard.press('Control+V');
    expect(await page.getByLabel('Password').inputValue()).toBe('pasted text');
  });
});
