import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadConfiguration } from '../src/config.ts';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-explorer-'));
afterAll(() => rmSync(directory, { recursive: true }));

test.each([
  ['on at a loopback address', {}, true],
  ['off at a loopback address with EXPLORER=false', { EXPLORER: 'false' }, false],
  ['off at a public address', { GATEWAY_URL: 'https://gateway.example' }, false],
  [
    'on at a public address with EXPLORER=true',
    { GATEWAY_URL: 'https://gateway.example', EXPLORER: 'true' },
    true,
  ],
])('the explorer is %s', (name, variables, explorer) => {
  const environment = { DATA_DIR: join(directory, name), ...variables };
  expect(loadConfiguration(environment).explorer).toBe(explorer);
});

describe('a gateway without the explorer', () => {
  let booted: BootedGateway;
  beforeAll(async () => {
    booted = await bootGateway();
  });
  afterAll(() => closeUnharmed(booted));

  test('treats /explorer like any unknown path', async () => {
    const headers = { Authorization: `Bearer ${await booted.issueToken()}` };
    for (const path of ['/explorer', '/explorer/', '/explorer/page/main.ts']) {
      expect((await send(booted.port, path)).status).toBe(401);
      expect((await send(booted.port, path, { headers })).status).toBe(404);
    }
  });
});

describe('a gateway with the explorer', () => {
  let booted: BootedGateway;
  beforeAll(async () => {
    booted = await bootGateway({ explorer: true });
  });
  afterAll(() => closeUnharmed(booted));

  test('serves the page with a policy that allows only its own files and two destinations', async () => {
    const { status, headers, body } = await send(booted.port, '/explorer');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
        "connect-src 'self' http://login.example:9000/token; base-uri 'none'; form-action 'none'; " +
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    });
    expect(body.toString()).not.toMatch(/<script>|<style|\sstyle=|\son\w+=|https?:/);
  });

  test('serves every file that the page names, as JavaScript without types', async () => {
    const page = (await send(booted.port, '/explorer')).body.toString();
    const names = [...page.matchAll(/(?:href|src)="(explorer\/[^"]+)"/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      const file = await send(booted.port, `/${name}`);
      expect([name, file.status]).toEqual([name, 200]);
      expect(file.headers['x-content-type-options']).toBe('nosniff');
      const text = file.body.toString();
      expect(text).not.toMatch(/^(?:export )?(?:interface|type) /m);
      for (const [, imported = ''] of text.matchAll(/^import [^']* from '([^']+)'/gm)) {
        expect(imported).toMatch(/^\.\.?\/[\w./-]+\.ts$/);
        expect(names).toContain(new URL(imported, `http://host/${name}`).pathname.slice(1));
      }
    }
  });

  test('serves no other file, no other method, and no path above its folder', async () => {
    const statusOf = async (path: string, method = 'GET') =>
      (await send(booted.port, path, { method })).status;
    expect(await statusOf('/explorer/page/tsconfig.json')).toBe(404);
    expect(await statusOf('/explorer/none')).toBe(404);
    expect(await statusOf('/explorer/%2e%2e/config.ts')).not.toBe(200);
    expect(await statusOf('/explorers')).toBe(401);
    expect(await statusOf('/explorer', 'POST')).toBe(405);
    const head = await send(booted.port, '/explorer', { method: 'HEAD' });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    const slash = await send(booted.port, '/explorer/');
    expect([slash.status, slash.headers.location]).toEqual([308, '../explorer']);
  });

  test('names its requests in the log, those that fail, too', async () => {
    await send(booted.port, '/explorer/none');
    const lines = booted.logLines().filter(({ msg }) => msg === 'GET explorer 404');
    expect(lines.length).toBeGreaterThan(0);
  });

  test('counts its requests in the limit of the address', async () => {
    const { headers } = await send(booted.port, '/explorer');
    expect(headers['ratelimit-policy']).toContain('"address"');
  });
});

test('a request over the limit of the address loads nothing', async () => {
  const addressRateLimit = { requests: 1, windowSeconds: 60 };
  const booted = await bootGateway({ explorer: true, addressRateLimit });
  try {
    expect((await send(booted.port, '/explorer/favicon.svg')).status).toBe(200);
    expect((await send(booted.port, '/explorer/none')).status).toBe(429);
    expect(booted.logLines().map(({ msg }) => msg)).toContain('GET explorer 429');
  } finally {
    await booted.close();
  }
});

test('the stylesheet uses only the colors of all pages', async () => {
  const booted = await bootGateway({ explorer: true });
  try {
    const text = (await send(booted.port, '/explorer/explorer.css')).body.toString();
    const rules = text.replaceAll(/:root \{[^}]*\}/g, '');
    expect(rules.match(/#[0-9a-f]{6}\b/gi) ?? []).toEqual([]);
    for (const [, name] of rules.matchAll(/var\(--([\w-]+)\)/g)) {
      expect(text).toContain(`--${name}:`);
    }
  } finally {
    await booted.close();
  }
});
