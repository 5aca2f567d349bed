// requires: openssl curl
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { canonicalText, parseParameters } from '@gatehouse/signing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { bootSuiteGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway();
// This client may use version 2 only.
const modern = { clientId: 'modern', signatureAlgorithm: 'HMAC-SHA-256' } as const;
await gateway.saveClient(modern, gateway.secureKey);
const directory = mkdtempSync(join(tmpdir(), 'signing-sample-'));
afterAll(() => rmSync(directory, { recursive: true }));

function scriptOfPage(): string {
  const file = fileURLToPath(new URL('../../../docs/signing.md', import.meta.url));
  const page = readFileSync(file, 'utf8');
  const sample = page.slice(page.indexOf('\n## A script for the shell\n'));
  const [, script] = /```sh\n([\s\S]*?)```/.exec(sample) ?? [];
  if (script === undefined) {
    throw new Error('docs/signing.md has no script.');
  }
  return script;
}

function run(secureKey = gateway.secureKey): Promise<string> {
  const env = {
    ...process.env,
    GATEWAY_URL: `http://127.0.0.1:${gateway.port}`,
    CLIENT_ID: 'modern',
    SECURE_KEY: secureKey,
  };
  const child = spawn('sh', ['-c', `{ ${scriptOfPage()}\n} 2>&1`], { cwd: directory, env });
  return text(child.stdout);
}

describe('docs/signing.md', () => {
  test('has a script that signs and verifies', async () => {
    const output = await run();
    expect(output).toBe('200\n200\n');
    const [read, created] = gateway.upstream.requests;
    const query = parseParameters(new URL(`http://g${read?.url}`).search.slice(1));
    expect(canonicalText(query)).toBe('pageIndex=0&pageSize=20&where=name like %张三%');
    expect(JSON.parse(created?.body.toString() ?? '')).toMatchObject({ productId: 'p1' });
  });

  test('has a script that prints the rejection before it complains about the reply', async () => {
    const output = await run(`${gateway.secureKey}\n`);
    const rejection = output.indexOf('401 {');
    expect(rejection).toBeGreaterThan(-1);
    expect(output.indexOf('"cause":"key_whitespace"')).toBeGreaterThan(rejection);
    expect(output.search(/the reply is not signed by the gateway/i)).toBeGreaterThan(rejection);
    expect(output).not.toMatch(/^200$/m);
  });
});
