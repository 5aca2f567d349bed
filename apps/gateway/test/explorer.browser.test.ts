// requires: chromium curl openssl

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { applyBootstrap, demoDefinition, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { basic, processEnvironment } from '@gatehouse/testing';
import { accessibilityProblems, launchBrowser } from '@gatehouse/testing/browser';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';

const run = promisify(execFile);

const demo = {
  clientId: 'demo',
  secureKey: 'explorerKey-0123456789abcdef',
  redirectUri: 'http://localhost:9010/callback',
  username: 'alice',
  password: 'correct horse battery staple',
};

/** The three servers, with the demo and its client for the explorer. */
async function startExplorerSystem() {
  const system = await startSystem({ engine: 'sqlite', bootstrap: {} });
  const store = createStore(system.storeUrl);
  try {
    const identity = openIdentity({ store, masterKey: system.masterKey });
    await applyBootstrap(demoDefinition(demo, system.gatewayUrl), identity);
  } finally {
    await store.close();
  }
  return system;
}

type Language = 'curl' | 'javascript';

/** Runs copied code as a developer does, with the secret in the environment. */
async function createCodeRunner() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-explorer-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  await build({
    entryPoints: [join(import.meta.dirname, '../../../packages/client/src/index.ts')],
    outfile: join(folder, 'node_modules/@gatehouse/client/index.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
  });
  await writeFile(
    join(folder, 'node_modules/@gatehouse/client/package.json'),
    '{"name":"@gatehouse/client","exports":"./index.mjs"}',
  );
  const programs = {
    curl: ['sh', 'call.sh'],
    javascript: [process.execPath, 'call.mjs'],
  } as const;
  return async (language: Language, code: string, secrets: Readonly<Record<string, string>>) => {
    const [program, file] = programs[language];
    await writeFile(join(folder, file), code);
    const env = { ...processEnvironment, ...secrets };
    return (await run(program, [file], { cwd: folder, env })).stdout;
  };
}

const system = await startExplorerSystem();
const runCode = await createCodeRunner();
const browser = await launchBrowser();
afterAll(() => browser.close());
const address = `${system.gatewayUrl}/explorer`;

/** Errors that tests cause. */
const EXPECTED = /^Failed to load resource|frame-ancestors|Cross-Origin-Opener-Policy .* ignored/;
let page: Page;
/** Violations of the policy and errors of the page, which the browser reports. */
let failures: string[];

beforeEach(async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  page = await context.newPage();
  failures = [];
  page.on('pageerror', (error) => failures.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) {
      failures.push(message.text());
    }
  });
  await page.goto(address);
  await page.locator('#content').waitFor();
});
afterEach(async () => {
  await page.context().close();
  expect(failures).toEqual([]);
});

async function chooseKey(secureKey = demo.secureKey): Promise<void> {
  await page.getByLabel('Sign with a secure key').check();
  await page.locator('#client-id').fill(demo.clientId);
  await page.getByLabel('Secure key', { exact: true }).fill(secureKey);
}

async function openParameters(): Promise<void> {
  if (!(await page.locator('#query-parameters').isVisible())) {
    await page.getByText('Query parameters').click();
  }
}

async function send(): Promise<string> {
  await page.getByRole('button', { name: 'Send request' }).click();
  await page.locator('#outcome > *, #request-problem > p').first().waitFor();
  return (await page.locator('#status').textContent()) ?? '';
}

/** The id of the field that the browser asks to correct. Nothing is sent. */
async function invalidField(): Promise<string> {
  await page.getByRole('button', { name: 'Send request' }).click();
  expect(await page.locator('#results').isVisible()).toBe(false);
  return page.evaluate(
    'document.querySelector(":user-invalid") === document.activeElement ? document.activeElement.id : ""',
  );
}

async function signIn(): Promise<void> {
  await page.getByRole('button', { name: 'Sign in as a user' }).click();
  await page.getByLabel('Username').fill(demo.username);
  await page.getByLabel('Password').fill(demo.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('You are signed in.').waitFor();
}

const textOf = async (selector: string) => (await page.locator(selector).textContent()) ?? '';
const bodyOf = async () => JSON.parse(await textOf('#reply-body'));

async function copiedCode(language: Language): Promise<string> {
  const code = await textOf(`#code-${language}`);
  expect(code).not.toContain(demo.secureKey);
  return code;
}

describe('the explorer', () => {
  test('signs with version 2, shows what it signs, and verifies the reply', async () => {
    await page.getByLabel('Operation').selectOption('device.create');
    await chooseKey();
    expect(await send()).toBe('200 OK');
    expect(await textOf('#verification')).toContain('Signature verified.');
    expect(await page.locator('td.value').allTextContents()).toEqual([
      ...['GATEHOUSE-V2', 'POST', '/device/instance', '', 'application/json'],
      ...[expect.stringMatching(/^[0-9a-f]{64}$/), demo.clientId],
      ...[expect.stringMatching(/^\d{13}$/), expect.stringMatching(/^[0-9a-f-]{36}$/)],
    ]);
    expect(await textOf('#signature')).toMatch(/^[0-9a-f]{64}$/);
    expect((await bodyOf()).result.id).toBe('pump-1');
  });

  test('signs a query and a body with version 1', async () => {
    await chooseKey();
    await page.getByLabel('Version 1').check();
    await openParameters();
    await page.getByLabel('where').fill('name like %张三%');
    await page.getByLabel('pageSize').fill('5');
    expect(await send()).toBe('200 OK');
    expect((await page.locator('td.value').allTextContents())[0]).toBe(
      'pageSize=5&where=name like %张三%',
    );
    expect(await textOf('#verification')).toContain('Signature verified.');
    await page.getByLabel('Operation').selectOption('device.count');
    expect(await send()).toBe('200 OK');
    expect(await textOf('#verification')).toContain('Signature verified.');
  });

  test('shows the lines that the gateway expects, and explains a wrong key', async () => {
    await openParameters();
    await page.getByLabel('pageSize').fill('20');
    await chooseKey('not the key of this client');
    expect(await send()).toBe('401 Unauthorized');
    const shown = await page.locator('td.value').allTextContents();
    const { expectedLines } = (await bodyOf()).result;
    expect(shown).toEqual(expectedLines);
    expect(await textOf('#rejection')).toContain('invalid_signature');
    const verification = await textOf('#verification');
    expect(verification).toContain('Not verified.');
    expect(verification).toContain('the client id or the secure key is wrong');
  });

  test('signs a user in with PKCE, sends the access token, and copies the call', async () => {
    await page.getByLabel('Operation').selectOption('product.query');
    const issued = page.waitForResponse('**/token');
    await signIn();
    const { access_token: token } = await (await issued).json();
    expect(page.url()).toBe(address);
    expect(await page.getByLabel('Operation').inputValue()).toBe('product.query');
    expect(await send()).toBe('200 OK');
    expect(await textOf('#verification')).toContain('have no signature');
    expect(await page.evaluate('[sessionStorage.length, localStorage.length]')).toEqual([0, 0]);
    for (const language of ['curl', 'javascript'] as const) {
      const code = await copiedCode(language);
      expect(code).not.toContain(token);
      expect(await runCode(language, code, { ACCESS_TOKEN: token })).toContain('"code":"success"');
    }
  });

  test('follows a link to an operation that reads, also after a sign-in', async () => {
    const follow = async (fragment: string) => {
      await page.goto('about:blank');
      await page.goto(`${address}#${fragment}`);
      await page.locator('#content').waitFor();
      return page.getByLabel('Operation').inputValue();
    };
    // Anyone can write a link.
    expect(await follow('operation=device.delete&deviceId=pump-1')).toBe('device.list');
    expect(await follow('operation=device.detail&deviceId=..')).toBe('device.detail');
    expect(await invalidField()).toBe('path-deviceId');
    expect(await follow('operation=device.detail&deviceId=missing&token=x')).toBe('device.detail');
    expect(await page.locator('#access-token').inputValue()).toBe('');
    await signIn();
    expect(page.url()).toBe(address);
    expect(await page.getByLabel('Operation').inputValue()).toBe('device.detail');
    expect(await page.locator('#path-deviceId').inputValue()).toBe('missing');
    expect(await send()).toBe('404 Not Found');
  });

  test('sends a pasted access token, and copies the call without it', async () => {
    const issued = await fetch(`${system.authorizationServerUrl}/token`, {
      method: 'POST',
      headers: { authorization: basic(demo.clientId, demo.secureKey) },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: token } = (await issued.json()) as { readonly access_token: string };
    expect(await invalidField()).toBe('access-token');
    await page.getByLabel('Access token', { exact: true }).fill(token);
    expect(await send()).toBe('200 OK');
    const code = await copiedCode('curl');
    expect(code).not.toContain(token);
    expect(await runCode('curl', code, { ACCESS_TOKEN: token })).toContain('"code":"success"');
    expect(await page.evaluate('[sessionStorage.length, localStorage.length]')).toEqual([0, 0]);
  });

  test('gets an X-Access-Token with a signature, and sends it', async () => {
    await page.getByLabel('Operation').selectOption('access-token.issue');
    await chooseKey();
    await send();
    const token = (await bodyOf()).result;
    await page.getByLabel('Operation').selectOption('device.list');
    await page.locator('#with-x-access-token').check();
    await page.locator('#token').fill(token);
    expect(await send()).toBe('200 OK');
  });

  test('reports a reply that was changed on the way', async () => {
    await chooseKey();
    await page.route('**/api/device', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: `${await response.text()} ` });
    });
    expect(await send()).toBe('200 OK');
    expect(await textOf('#verification')).toContain('Do not trust it.');
  });
});

describe('a copied call', () => {
  const hostile =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: JavaScript must not expand it
    'it\'s "$(touch owned)" `touch owned` \\ %s\n#{1} ${1} \u2028\u202e\u3164\ufe0f\u{e0041} é';
  const settings = [
    ['a signature of version 2', 'secure-key', 2],
    ['a signature of version 1', 'secure-key', 1],
    ['an X-Access-Token', 'x-access-token', 2],
  ] as const;

  test.each(settings)(
    'contains no secret, and runs as printed in curl and JavaScript, with %s and hostile text',
    async (_name, kind, version) => {
      const token = await issueToken();
      await chooseKey();
      await page.locator(`#version-${version}`).check();
      await page.locator(`#with-${kind}`).check();
      if (kind === 'x-access-token') {
        await page.locator('#token').fill(token);
      }
      const secrets = { SECURE_KEY: demo.secureKey, X_ACCESS_TOKEN: token };
      for (const language of ['curl', 'javascript'] as const) {
        const id = `d-${language}-${kind}-${version}`;
        const device = { id, name: 'D', productId: 'p', productName: 'P', metadata: hostile };
        await page.getByLabel('Operation').selectOption('device.create');
        await page.locator('#body').fill(JSON.stringify(device, null, 1));
        // Only the code is needed, so the page sends nothing.
        await page.route('**/device/instance', (route) => route.abort());
        await send();
        const code = await copiedCode(language);
        expect(code).not.toMatch(/[\p{Cf}\u2028\u3164]|\ufe0f/u);
        const output = await runCode(language, code, secrets);
        expect([language, output]).toEqual([language, expect.stringContaining('"code":"success"')]);
        expect(output).toContain(JSON.stringify(hostile).slice(1, -1));
        await page.getByLabel('Operation').selectOption('device.list');
        await openParameters();
        await page.getByLabel('where').fill(`id = ${id} and name like %D% and name != \u{e0041}`);
        expect(await send()).toBe('200 OK');
        const listed = await runCode(language, await copiedCode(language), secrets);
        expect([language, listed]).toEqual([language, expect.stringContaining(`"id":"${id}"`)]);
      }
    },
  );
});

/** The gateway issues it to a signed call of the client library. */
async function issueToken(): Promise<string> {
  const code = `import { createSignedFetch } from '@gatehouse/client';
const settings = ${JSON.stringify({ gateway: system.gatewayUrl, ...demo })};
const reply = await createSignedFetch(settings)('/api/v1/token', { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } });
console.log((await reply.json()).result);`;
  return (await runCode('javascript', code, {})).trim();
}

/** Whether the user sees the element without scrolling. */
async function isInView(selector: string): Promise<boolean> {
  const box = await page.locator(selector).boundingBox();
  const height = page.viewportSize()?.height ?? 0;
  // Scroll positions are whole pixels, boxes are not.
  return box !== null && box.y > -1 && box.y + box.height < height + 1;
}

describe('an attacker', () => {
  test('cannot inject markup through a device, a parameter, an error or the address', async () => {
    const markup = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
    await chooseKey();
    await page.getByLabel('Operation').selectOption('device.create');
    const device = { id: 'xss', name: markup, productId: 'p', productName: markup };
    await page.locator('#body').fill(JSON.stringify(device));
    expect(await send()).toBe('200 OK');
    expect(await textOf('#reply-body')).toContain(JSON.stringify(markup));
    await page.getByLabel('Operation').selectOption('device.list');
    await openParameters();
    await page.getByLabel('orderBy').fill(markup);
    expect(await send()).toBe('400 Bad Request');
    expect(await textOf('#rejection')).toContain('orderBy');
    const parameters = new URLSearchParams({ error: markup, state: markup, iss: markup });
    await page.goto(`${address}?${parameters}#${markup}`);
    await page.locator('#problem > p').waitFor();
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.title()).toBe('API explorer · Gatehouse');
  });

  test('cannot complete a sign-in that did not begin in this tab, or with another server', async () => {
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    const openReply = async (changes: Record<string, string>) => {
      const reply = { code: 'stolen', iss: system.authorizationServerUrl, ...changes };
      await page.goto(`${address}?${new URLSearchParams(reply)}`);
      await page.locator('#problem > p').waitFor();
      expect(page.url()).toBe(address);
      return textOf('#problem');
    };
    const begin = () =>
      page.evaluate(
        `sessionStorage.setItem('gatehouse-explorer-sign-in', '{"state":"right","verifier":"v","clientId":"explorer","operation":""}')`,
      );
    expect(await openReply({ state: 'right' })).toContain('did not begin in this tab');
    await begin();
    expect(await openReply({ state: 'wrong' })).toContain('did not begin in this tab');
    expect(await openReply({ state: 'right' })).toContain('did not begin in this tab');
    await begin();
    expect(await openReply({ state: 'right', iss: 'https://evil.example' })).toContain(
      'Another authorization server',
    );
    expect(requests.filter((url) => url.endsWith('/token'))).toEqual([]);
  });

  test('finds the secure key in no storage, address, request, history or log', async () => {
    const sent: string[] = [];
    page.on('request', (request) => {
      sent.push(request.url(), JSON.stringify(request.headers()), request.postData() ?? '');
    });
    await chooseKey();
    expect(await send()).toBe('200 OK');
    await page.getByLabel('Operation').selectOption('device.count');
    await page.getByLabel('Version 1').check();
    expect(await send()).toBe('200 OK');
    const stored = await page.evaluate(
      'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie, location.href, history.state, document.documentElement.outerHTML])',
    );
    expect(stored).not.toContain(demo.secureKey);
    expect(sent.join('\n')).not.toContain(demo.secureKey);
    expect(await system.output()).not.toContain(demo.secureKey);
    await page.reload();
    await page.locator('#content').waitFor();
    await page.getByLabel('Sign with a secure key').check();
    expect(await page.getByLabel('Secure key', { exact: true }).inputValue()).toBe('');
  });

  test('cannot show the page in a frame', async () => {
    const frame = `${system.authorizationServerUrl}/frame`;
    await page.route(frame, (route) =>
      route.fulfill({ contentType: 'text/html', body: `<iframe src="${address}"></iframe>` }),
    );
    const refusal = page.waitForEvent('framenavigated', (each) =>
      each.url().startsWith('chrome-error:'),
    );
    await page.goto(frame, { waitUntil: 'commit' });
    await refusal;
  });
});

/** The gateway at another address, behind a proxy that removes the prefix. */
async function openAt(publicUrl: string): Promise<void> {
  await page.route(`${publicUrl}/**`, async (route) => {
    const url = system.gatewayUrl + route.request().url().slice(publicUrl.length);
    const response = await route.fetch({ url });
    const document = url.endsWith('/openapi.json')
      ? { ...(await response.json()), servers: [{ url: publicUrl }] }
      : undefined;
    await route.fulfill({ response, ...(document && { json: document }) });
  });
  await page.goto(`${publicUrl}/explorer`);
}

describe('the page', () => {
  test('signs and copies the path that the gateway receives behind a proxy with a prefix', async () => {
    await openAt('http://localhost:1/tenant');
    await chooseKey();
    expect(await send()).toBe('200 OK');
    expect((await page.locator('td.value').allTextContents())[2]).toBe('/api/device');
    const code = await copiedCode('curl');
    expect(code).toContain("'http://localhost:1/tenant/api/device'");
    expect(code).not.toContain('/tenant/tenant');
    const script = await copiedCode('javascript');
    expect(script).toContain('"gateway": "http://localhost:1/tenant"');
    expect(script).toContain('api("/api/device"');
  });

  test('shows where browsers can sign, on an address where they cannot', async () => {
    await openAt('http://gateway.example');
    const problem = page.locator('#problem > p');
    await problem.waitFor();
    expect(await problem.textContent()).toContain('Open the explorer at http://gateway.example/');
  });

  test('shows no reply to another request: the form waits for it', async () => {
    const held = Promise.withResolvers<void>();
    await page.route('**/api/device', async (route) => {
      await held.promise;
      await route.continue();
    });
    await chooseKey();
    const sent = page.waitForRequest('**/api/device');
    await page.getByRole('button', { name: 'Send request' }).click();
    await sent;
    expect(await page.getByLabel('Operation').isDisabled()).toBe(true);
    held.resolve();
    await page.locator('#reply').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('send');
    await page.getByLabel('Operation').selectOption('device.count');
    await page.getByRole('button', { name: 'Show signature only' }).click();
    await page.locator('#signed').waitFor();
    expect(await page.locator('#reply').isVisible()).toBe(false);
  });

  test('shows no code of an earlier request', async () => {
    await chooseKey();
    for (const change of [
      () => page.getByLabel('Operation').selectOption('device.count'),
      () => page.locator('#with-access-token').check(),
    ]) {
      await send();
      expect(await page.locator('#code-curl').isVisible()).toBe(true);
      await change();
      expect(await page.locator('#code-curl').isVisible()).toBe(false);
      expect(await page.locator('#nothing').isVisible()).toBe(true);
    }
  });

  test('removes the code and the verifier if it cannot load', async () => {
    await page.evaluate(`sessionStorage.setItem('gatehouse-explorer-sign-in', '{"state":"s"}')`);
    await page.route('**/openapi.json', (route) => route.fulfill({ status: 401 }));
    await page.goto(`${address}?code=c&state=s`);
    await page.locator('#problem > p').waitFor();
    expect(page.url()).toBe(address);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  test.each([390, 1280])('shows the outcome next to the button at %i px', async (width) => {
    await page.setViewportSize({ width, height: 844 });
    expect(await invalidField()).toBe('access-token');
    expect(await isInView('#access-token')).toBe(true);
    await chooseKey();
    await page.route('**/api/device', (route) => route.abort());
    await send();
    expect(await isInView('#request-problem')).toBe(true);
    expect(await textOf('#request-problem')).toContain('No reply arrived.');
    await page.unroute('**/api/device');
    expect(await send()).toBe('200 OK');
    expect(await isInView('#outcome')).toBe(true);
    expect(await textOf('#outcome')).toContain('200 OK. Signature verified.');
    await page.getByRole('link', { name: 'Show the reply' }).click();
    expect(await isInView('#reply-title')).toBe(true);
  });

  test('marks a field until its problem is solved', async () => {
    const border = () =>
      page.evaluate(`getComputedStyle(document.getElementById('secure-key')).borderTopWidth`);
    await chooseKey('');
    expect([await invalidField(), await border()]).toEqual(['secure-key', '2px']);
    await chooseKey();
    expect([await send(), await border()]).toEqual(['200 OK', '1px']);
  });

  test('works with the keyboard only', async () => {
    const { keyboard } = page;
    const tabTo = async (id: string) => {
      for (let steps = 0; steps < 40; steps += 1) {
        await keyboard.press('Tab');
        if ((await page.evaluate('document.activeElement.id')) === id) {
          return;
        }
      }
      throw new Error(`Tab does not reach ${id}.`);
    };
    await tabTo('operation');
    await keyboard.type('Count');
    await tabTo('with-access-token');
    await keyboard.press('ArrowDown');
    await tabTo('client-id');
    await keyboard.type(demo.clientId);
    await keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('secure-key');
    await keyboard.type(demo.secureKey);
    await keyboard.press('Enter');
    await page.locator('#reply').waitFor();
    expect(await textOf('#status')).toBe('200 OK');
    expect(await textOf('#route')).toBe('POST /device/instance/_count');
    await tabTo('copy-curl');
  });

  test('axe-core finds no problem in any state, light and dark', async () => {
    const look = async (state: string) =>
      expect([state, await accessibilityProblems(page)]).toEqual([state, []]);
    await openParameters();
    await invalidField();
    await look('access token, parameters and an invalid field');
    await page.locator('#with-x-access-token').check();
    await look('X-Access-Token');
    await chooseKey('not the key of this client');
    await send();
    await look('rejection');
    await chooseKey();
    await send();
    await look('reply');
  });

  test('fits into 320 px, with touch targets of 44 px', async () => {
    await page.setViewportSize({ width: 320, height: 640 });
    await chooseKey('not the key of this client');
    await send();
    const overflow = await page
      .locator('html')
      .evaluate((html) => html.scrollWidth - html.clientWidth);
    expect(overflow).toBe(0);
    const targets = page.locator(
      'button, select, summary, textarea, .choice label, input[type=text]',
    );
    for (const target of await targets.all()) {
      const box = (await target.isVisible()) ? await target.boundingBox() : undefined;
      expect(box?.height ?? 44).toBeGreaterThanOrEqual(44);
    }
  });
});
