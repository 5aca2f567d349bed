// requires: python3 cc arm-none-eabi-gcc go javac php
/** The reference signers of examples/signers/: test vectors, a live gateway, and the size of the C signer. */

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import {
  buildSigner,
  type HostileProxy,
  listen,
  type ReferenceSigner,
  type SignerJob,
  type SignerLanguage,
  sanitizedC,
  signatureVectors,
  signerLanguages,
  startHostileProxy,
} from '@gatehouse/testing';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

const secureKey = 'signersSecureKey0123456789ab';
const client = (clientId: string, signatureAlgorithm: string) => ({
  ...{ clientId, secureKey, name: clientId, orgId: 'demo', signatureAlgorithm },
  grantTypes: ['client_credentials'],
  scopes: ['device:read', 'device:write'],
});
const schemes = [
  ['modern', ['2']],
  ['digests', ['1', 'SHA-256']],
  ['old', ['1', 'MD5']],
] as const;
const system = await startSystem({
  engine: 'sqlite',
  bootstrap: {
    organizations: [{ id: 'demo', name: 'Demo' }],
    clients: [client('modern', 'HMAC-SHA-256'), client('digests', 'SHA-256'), client('old', 'MD5')],
  },
});

let proxy: HostileProxy;
const signers = new Map<SignerLanguage, ReferenceSigner>();

beforeAll(async () => {
  proxy = await startHostileProxy(system.gatewayUrl);
  await Promise.all(
    signerLanguages.map(async (language) => signers.set(language, await buildSigner(language))),
  );
});
afterAll(() => {
  proxy.close();
  for (const signer of signers.values()) {
    signer.remove();
  }
});

function signerOf(language: SignerLanguage): ReferenceSigner {
  const signer = signers.get(language);
  if (signer === undefined) {
    throw new Error(`${language} was not built.`);
  }
  return signer;
}

const { requests, refusedRequests, replies } = signatureVectors;
const bytes = (body: string) => Buffer.from(body, 'base64');

const requestCases = [...requests, ...refusedRequests].map((vector) => ({
  name: `version ${vector.version}: ${vector.name}`,
  job: { ...vector, body: bytes(vector.body) } satisfies SignerJob,
  expected: vector.signature ?? 'refused',
}));
const replyCases = replies.map((vector) => {
  const { version, digest, secureKey: key, nonce, requestTimestamp } = vector;
  const request = { version, digest, secureKey: key, nonce, timestamp: requestTimestamp };
  const sent = { clientId: 'machine-1', method: 'GET', path: '/api/device', query: '' };
  const reply = { ...vector, body: bytes(vector.body) };
  const job: SignerJob = { ...request, ...sent, contentType: '', body: Buffer.of(), reply };
  return {
    name: `reply of version ${version}: ${vector.name}`,
    job,
    expected: vector.isValid ? 'valid' : 'invalid',
  };
});

describe.each(signerLanguages)('the signer in %s', (language) => {
  test('signs, refuses and verifies all test vectors', () => {
    const cases = [...requestCases, ...replyCases];
    const answers = signerOf(language).answer(cases.map(({ job }) => job));
    expect(cases.map(({ name }, index) => [name, answers[index]])).toEqual(
      cases.map(({ name, expected }) => [name, expected]),
    );
  });

  test.each(schemes)(
    'lists, creates and searches as the client %s, with or without a slash after the address',
    async (clientId, parameters) => {
      const slash = clientId === 'digests' ? '/' : '';
      const id = `${language}-${clientId}`;
      const { output, status } = await signerOf(language).runExample(
        environmentOf(`${system.gatewayUrl}${slash}`, clientId, id),
        ...parameters,
      );
      const lines = output.trimEnd().split('\n');
      expect([output, status]).toEqual([output, 0]);
      expect(lines.map((line) => line.slice(0, 3))).toEqual(['200', '200', '200']);
      const found = JSON.parse(lines[2]?.slice(4) ?? '').result.data;
      expect(found.map((each: { id: string }) => each.id)).toContain(id);
    },
  );

  test.each(schemes)('rejects a changed reply to the client %s', async (clientId, parameters) => {
    proxy.attack = (reply) => ({
      ...reply,
      body: Buffer.from(reply.body.toString().replace('"success"', '"altered"')),
    });
    const { output, status } = await signerOf(language).runExample(
      environmentOf(proxy.url, clientId, 'never'),
      ...parameters,
    );
    expect(output).toMatch(/the reply is not signed by the gateway/i);
    expect(output).toContain('altered');
    expect(status).not.toBe(0);
  });

  test('follows no redirect with its signature', async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer(({ url }, response) => {
      asked.push(url);
      response.writeHead(302, { location: '/elsewhere', 'content-length': 0 }).end();
    });
    const gatewayUrl = `http://127.0.0.1:${await listen(server)}`;
    const { output, status } = await runExample(language, { GATEWAY_URL: gatewayUrl });
    server.close();
    expect(asked).toEqual(['/api/device?pageSize=20&pageIndex=0']);
    expect(output).toMatch(/^302 .*\n.*not signed by the gateway/);
    expect(status).toBe(1);
  });
});

/** Each program signs with a clock that is a day ahead, and then with the corrected one. */
const correctedClocks = {
  python: [
    'python3',
    '-c',
    `from gatehouse_signer import Signer
times = [2000000000000, 1700000000000]
signer = Signer("c", "k", 1, clock=lambda: times[0])
signer.sign("GET", "/")
times.pop(0)
print(signer.sign("GET", "/").headers["X-Timestamp"])`,
  ],
  php: [
    'php',
    '-r',
    `require 'GatehouseSigner.php';
$signer = new GatehouseSigner('c', 'k', 1);
(function () { $this->latest = (time() + 86400) * 1000; })->call($signer);
echo $signer->sign('GET', '/')->headers['X-Timestamp'];`,
  ],
} as const;

test.each(['python', 'php'] as const)(
  'the signer in %s signs no future time after its clock was corrected',
  (language) => {
    const [program, ...args] = correctedClocks[language];
    const cwd = join(root, 'examples/signers', language);
    const printed = execFileSync(program, args, { cwd, encoding: 'utf8' });
    expect(Number(printed)).toBeLessThan(Date.now() + 60_000);
  },
);

/** With a client that exists at the gateway, and other variables in place of its own. */
function runExample(language: SignerLanguage, environment: Readonly<Record<string, string>>) {
  return signerOf(language).runExample({
    ...environmentOf(system.gatewayUrl, 'modern', 'never'),
    ...environment,
  });
}

function environmentOf(gatewayUrl: string, clientId: string, deviceId: string) {
  return {
    GATEWAY_URL: gatewayUrl,
    CLIENT_ID: clientId,
    SECURE_KEY: secureKey,
    DEVICE_ID: deviceId,
  };
}

describe('the signer in C', () => {
  test.each([
    ['GATEWAY_URL', 'https://localhost:8844', 'GATEWAY_URL must begin with http://.'],
    ['GATEWAY_URL', 'http://localhost:8844/api', 'GATEWAY_URL must be http://HOST:PORT.'],
    ['GATEWAY_URL', 'http://localhost:8844444', 'GATEWAY_URL must be http://HOST:PORT.'],
    ['CLIENT_ID', 'c'.repeat(9000), 'The request is too long.'],
    ['DEVICE_ID', 'd'.repeat(9000), 'DEVICE_ID is too long.'],
  ])('rejects a wrong %s', async (name, value, message) => {
    const { output, status } = await runExample('c', { [name]: value });
    expect([output, status]).toEqual([`${message}\n`, 1]);
  });

  test('survives random replies, bodies and parameters under sanitizers', () => {
    const out = temporaryFolder();
    const build = `${sanitizedC} c/test/fuzz.c -o ${out}/fuzz`;
    execFileSync('sh', ['-c', build], { cwd: join(root, 'examples/signers') });
    const output = execFileSync(join(out, 'fuzz'), { encoding: 'utf8' });
    expect(output).toMatch(/^20000 inputs/);
  });

  test('has at most 4 KiB of code for a Cortex-M3', () => {
    const out = temporaryFolder();
    const folder = join(root, 'examples/signers/c');
    const sources = readdirSync(join(folder, 'src')).filter((file) => file.endsWith('.c'));
    const flags = ['-std=c99', '-mcpu=cortex-m3', '-mthumb', '-Os', '-Wall', '-Wextra', '-Werror'];
    for (const source of sources) {
      execFileSync('arm-none-eabi-gcc', [
        ...[...flags, '-Wconversion', `-I${folder}/include`, '-c', join(folder, 'src', source)],
        ...['-o', join(out, `${source}.o`)],
      ]);
    }
    const objects = sources.map((source) => join(out, `${source}.o`));
    const size = execFileSync('arm-none-eabi-size', ['-t', ...objects], { encoding: 'utf8' });
    const [text = '', data = '', bss = ''] =
      size.trimEnd().split('\n').at(-1)?.trim().split(/\s+/) ?? [];
    expect(Number(text)).toBeLessThanOrEqual(4096);
    expect([data, bss]).toEqual(['0', '0']);
  });
});
