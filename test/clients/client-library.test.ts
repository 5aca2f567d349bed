/** The packed client library in Deno and Bun, and in Chromium with pages of another origin. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  freePort,
  type HostileProxy,
  processEnvironment,
  startHostileProxy,
} from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import {
  bootstrapOfPrograms,
  clientPrograms,
  secureKey,
  settingsOfPrograms,
} from '../../packages/client/test/client-programs.ts';
import { packPackage } from '../../packages/client/test/packed-package.ts';

const run = promisify(execFile);
const programOf = (name: string) => join(import.meta.dirname, 'node_modules/.bin', name);

const origin = `http://localhost:${await freePort()}`;
const system = await startSystem({ engine: 'sqlite', bootstrap: bootstrapOfPrograms(origin) });
const packed = await packPackage();
const project = await packed.install();
afterAll(() => packed.remove());

describe.each([
  { platform: 'Deno', command: [programOf('deno'), 'run', '--allow-net'] },
  { platform: 'Bun', command: [programOf('bun'), '--no-install'] },
])('in $platform', ({ command: [program = '', ...args] }) => {
  test.each(clientPrograms)('the client library $title', async ({ file, changes, printed }) => {
    const settings = JSON.stringify({ ...settingsOfPrograms(system), ...changes });
    const { stdout } = await run(program, [...args, file, settings], {
      cwd: project,
      env: { ...processEnvironment, HOME: project },
    });
    expect(JSON.parse(stdout)).toEqual(printed);
  });
});

describe('in Chromium', () => {
  let browser: Browser;
  let page: Page;
  let proxy: HostileProxy;
  let pages: Server;

  beforeAll(async () => {
    [browser, proxy] = await Promise.all([launchBrowser(), startHostileProxy(system.gatewayUrl)]);
    const file = join(project, 'node_modules/@gatehouse/client/dist/index.js');
    const library = await readFile(file);
    pages = createServer(({ url }, response) => {
      const isLibrary = url === '/client.js';
      response.setHeader('Content-Type', isLibrary ? 'text/javascript' : 'text/html');
      response.end(isLibrary ? library : '<!doctype html><title>Test</title>');
    }).listen(Number(new URL(origin).port));
    await once(pages, 'listening');
  });
  afterAll(async () => {
    await browser.close();
    pages.close();
    proxy.close();
  });
  beforeEach(async () => {
    await page?.close();
    page = await browser.newPage();
    await page.goto(`${origin}/`);
    proxy.attack = (reply) => reply;
  });

  /** Calls the gateway from the page. Resolves to the reply, or the code of the error. */
  function call(options: object = {}) {
    const settings = { gateway: proxy.url, clientId: 'demo', secureKey, ...options };
    return page.evaluate(`(async () => {
      const { createSignedFetch, readResult } = await import('/client.js');
      try {
        const api = createSignedFetch(${JSON.stringify(settings)});
        const list = await readResult(await api('/api/device?where=name%20like%20%25%E5%BC%A0%25'));
        const count = await readResult(await api('/device/instance/_count', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: '{}',
        }));
        return { list, count };
      } catch ({ code, message, hint }) {
        return { code, message, hint };
      }
    })()`);
  }

  test.each([1, 2])(
    'verifies replies, and detects changed ones, with version %i',
    async (version) => {
      expect(await call({ version })).toEqual({ list: [], count: 0 });
      proxy.attack = (reply) => ({ ...reply, body: Buffer.from(`${reply.body} `) });
      expect(await call({ version })).toMatchObject({ code: 'unverified_reply' });
    },
  );

  test('detects a changed status', async () => {
    proxy.attack = (reply) => ({ ...reply, status: reply.status === 200 ? 201 : reply.status });
    expect(await call()).toMatchObject({ code: 'unverified_reply' });
  });

  test('corrects its clock, although it cannot read the header Date', async () => {
    await page.evaluate('{ const { now } = Date; Date.now = () => now() + 864e5; }');
    expect(await call()).toEqual({ list: [], count: 0 });
  });

  test('reports that the platform has no MD5', async () => {
    expect(await call({ version: 1, clientId: 'md5', digest: 'MD5' })).toEqual({
      code: 'digest_unavailable',
      message: 'This platform has no MD5.',
      hint: 'Use signature version 2, which needs no MD5.',
    });
  });
});
