// requires: openssl curl
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalText, parseParameters } from '@gatehouse/signing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { digest, hmacLines } from './test-credentials.ts';

const page = readFileSync(
  fileURLToPath(new URL('../../../docs/signing.md', import.meta.url)),
  'utf8',
);

let booted: BootedGateway;
let directory: string;

beforeAll(async () => {
  booted = await bootGateway();
  await booted.saveClient(
    { clientId: 'modern', signatureAlgorithm: 'HMAC-SHA-256' },
    booted.secureKey,
  );
});
afterAll(() => closeUnharmed(booted));
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signing-sample-'));
  booted.upstream.requests.length = 0;
});
afterEach(() => rmSync(directory, { recursive: true }));

function scriptOfPage(): string {
  const sample = page.slice(page.indexOf('\n## A script for the shell\n'));
  const [, script] = /```sh\n([\s\S]*?)```/.exec(sample) ?? [];
  if (script === undefined) {
    throw new Error('docs/signing.md has no script.');
  }
  return script;
}

function run(secureKey = booted.secureKey): Promise<string> {
  const child = spawn('sh', ['-c', scriptOfPage()], {
    cwd: directory,
    env: {
      ...process.env,
      GATEWAY_URL: `http://127.0.0.1:${booted.port}`,
      // This client may use version 2 only.
      CLIENT_ID: 'modern',
      SECURE_KEY: secureKey,
    },
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.on('close', () => resolve(output)));
}

describe('docs/signing.md', () => {
  test('has a script that signs and verifies', async () => {
    const output = await run();
    expect(output).toBe('200\n200\n');
    const [read, created] = booted.upstream.requests;
    const query = parseParameters(new URL(`http://g${read?.url}`).search.slice(1));
    expect(canonicalText(query)).toBe('pageIndex=0&pageSize=20&where=name like %张三%');
    expect(JSON.parse(created?.body.toString() ?? '')).toMatchObject({ productId: 'p1' });
  });

  test('has a script that prints the rejection before it complains about the reply', async () => {
    const output = await run(`${booted.secureKey}\n`);
    const rejection = output.indexOf('401 {');
    expect(rejection).toBeGreaterThan(-1);
    expect(output.indexOf('"cause":"key_whitespace"')).toBeGreaterThan(rejection);
    expect(output.search(/the reply is not signed by the gateway/i)).toBeGreaterThan(rejection);
    expect(output).not.toMatch(/^200$/m);
  });

  test('shows correct digests', () => {
    const parts = ['pageIndex=0&pageSize=20', '1574993804802', 'testSecure'];
    expect(page).toContain(parts.join(''));
    expect(page).toContain(digest('MD5', ...parts));
    expect(page).toContain(digest('SHA-256', ...parts));
  });

  test('shows a correct signature of version 2', () => {
    const lines = /```\n(GATEHOUSE-V2\n[^`]*)\n```/.exec(page)?.[1] ?? '';
    const parts = lines.split('\n');
    expect(parts).toHaveLength(9);
    expect(parts[5]).toBe(digest('SHA-256', ''));
    expect(page).toContain(`\`${hmacLines('testSecure-0123456789', ...parts)}\``);
  });

  test('shows correct signed texts', () => {
    const rows = [...page.matchAll(/^\| `([^`]+=[^`]*)` \| `([^`]+)` \|$/gm)];
    expect(rows.length).toBeGreaterThan(3);
    for (const [, query = '', text] of rows) {
      expect(canonicalText(parseParameters(query))).toBe(text);
    }
  });
});
