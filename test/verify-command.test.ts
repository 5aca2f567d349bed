import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signingReasons } from '@gatehouse/errors';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runGatehouse } from '../apps/cli/test/run-gatehouse.ts';
import {
  type BootedGateway,
  bootGateway,
  closeUnharmed,
} from '../apps/gateway/test/booted-gateway.ts';
import { sendRaw } from '../apps/gateway/test/http-client.ts';
import { type Mistake, signingMistakes } from './signing-mistakes.ts';

const secureKey = 'kXhnR0b2vY6cM1pFz7TqLw3sDe9aJu5G';
const mistakes = signingMistakes(secureKey, Date.now()).filter(
  ({ cause }) => cause !== 'version_1_not_allowed',
);

let booted: BootedGateway;
let directory: string;

beforeAll(async () => {
  booted = await bootGateway();
  await booted.saveClient({}, secureKey);
  await booted.saveClient({ clientId: 'modern', signatureAlgorithm: 'HMAC-SHA-256' }, secureKey);
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-verify-'));
  writeFileSync(join(directory, 'key'), `${secureKey}\n`);
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await closeUnharmed(booted);
});

function verify(capture: string | Buffer, args: readonly string[] = []) {
  writeFileSync(join(directory, 'capture'), capture);
  return runGatehouse({ INIT_CWD: directory }, [
    ...['verify', 'capture', '--key-file', 'key', '--json'],
    ...args,
  ]);
}

async function sendToGateway({ raw }: Mistake) {
  const reply = await sendRaw(booted.port, raw);
  const json = JSON.parse(reply.slice(reply.indexOf('\r\n\r\n')).trim());
  return { ...json, reason: booted.logLines().at(-1)?.reason };
}

describe('gatehouse verify', () => {
  test('The mistakes of this test have every reason of signed requests.', () => {
    const tested = new Set(mistakes.map(({ cause }) => cause));
    // Only the gateway knows which version a client may use.
    const untested = Object.keys(signingReasons).filter((name) => !tested.has(name));
    expect(untested).toEqual(['version_1_not_allowed']);
  });

  test.each(mistakes)('names $cause as the gateway does', async (mistake) => {
    const { cause, raw, algorithm } = mistake;
    const options = algorithm === undefined ? [] : ['--algorithm', algorithm];
    const offline = await verify(raw, options);
    const reply = await sendToGateway(mistake);

    expect(offline.code).toBe(1);
    expect([offline.json.causes[0]?.name, offline.json.code]).toEqual([cause, reply.code]);
    expect(reply.reason).toBe(cause);
    // A caller that did not sign with the key learns no cause, and a nonce is an invalid argument.
    const isNamed = !['invalid_signature', 'nonce_malformed'].includes(cause);
    expect(reply.result.cause).toBe(isNamed ? cause : undefined);
    expect(offline.output + offline.errors).not.toContain(secureKey);
  });

  test('verifies what gatehouse sign signs, and what the gateway accepts', async () => {
    writeFileSync(join(directory, 'body'), '{"id":"d1","name":"张"}\n');
    const requests = [
      ['GET', '/api/device?where=name%20like%20a&pageSize=1'],
      ['POST', '/device-instance', '--body-file', 'body'],
      ['DELETE', '/api/v1/device/d1'],
    ];
    for (const [method = '', target = '', ...args] of requests) {
      const signed = await runGatehouse({ INIT_CWD: directory }, [
        ...['sign', method, target, '--client', 'demo', '--key-file', 'key', '--json', ...args],
      ]);
      for (const { headers } of [signed.json.version1, signed.json.version2]) {
        const capture = captured(
          method,
          target,
          headers,
          args.length > 0 ? '{"id":"d1","name":"张"}\n' : '',
        );
        const { code, json } = await verify(capture);
        expect([code, json.isVerified]).toEqual([0, true]);
        expect(await sendRaw(booted.port, capture)).toMatch(/^HTTP\/1.1 200 /);
      }
    }
  });

  test('reads captures with LF, with a marker of curl, and with trailing bytes', async () => {
    const body = '{"id":"d1"}';
    writeFileSync(join(directory, 'body'), body);
    const headers = booted.signedV2({ ...postOf(body), secureKey });
    const raw = captured('POST', '/device-instance', headers, body);
    const head = raw.slice(0, raw.indexOf('\r\n\r\n'));
    const verbose = head
      .split('\r\n')
      .map((line) => `> ${line}\r\n`)
      .join('');
    const captures: [string, ...string[]][] = [
      [raw.replaceAll('\r\n', '\n')],
      [`${raw}\n`],
      [`\r\n${raw}`],
      [raw.replace(/Content-Length: \d+\r\n/, '')],
      [raw.replace('POST /', 'POST http://gateway.example/')],
      [raw.replace('HTTP/1.1', 'HTTP/2').replaceAll('X-', 'x-')],
      [
        `* Connected\n${verbose}>\r\n* done\n< HTTP/1.1 401 Unauthorized\n<\n`,
        '--body-file',
        'body',
      ],
    ];
    for (const [capture, ...args] of captures) {
      const { json, errors } = await verify(capture, args);
      expect([json.isVerified, errors]).toEqual([true, '']);
    }
  });

  test.each([
    ['', 'first line'],
    ['{"status":401}', 'first line'],
    ['GET / HTTP/1.1\nno header', 'Headers with a value follow'],
    ['POST / HTTP/1.1\nContent-Length: 9\n\nshort', 'only a part of the body'],
    ['POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n0\n\n', '--body-file'],
  ])('rejects the capture %j', async (capture, problem) => {
    const { code, errors } = await verify(capture);
    expect([code, errors]).toEqual([2, expect.stringContaining(problem)]);
  });

  test.each([
    [['Authorization: Bearer x'], 'unauthorized'],
    [['Authorization: Bearer x', 'X-Access-Token: y'], 'multiple_credentials'],
  ])('reports the code of the gateway for %j', async (headers, code) => {
    const raw = Buffer.from(
      ['GET /api/device HTTP/1.1', 'Host: g', 'Connection: close', ...headers, '', ''].join('\r\n'),
    );
    expect((await verify(raw)).json.code).toBe(code);
    expect((await sendToGateway({ cause: '', raw })).code).toBe(code);
  });

  test('reports the age of X-Timestamp', async () => {
    const timestamp = String(Date.now() - 3 * 86_400_000);
    const headers = booted.signed({ timestamp, secureKey });
    const { code, json } = await verify(captured('GET', '/api/device', headers, ''));
    expect([code, json.isVerified]).toEqual([0, true]);
    expect(json.age).toBeGreaterThan(3 * 86_400 - 60);
  });

  test('prints the cause, the fix and what the signature must cover', async () => {
    const { raw } = mistakes.find(({ cause }) => cause === 'query_not_as_sent') as Mistake;
    writeFileSync(join(directory, 'capture'), raw);
    const { output } = await runGatehouse({ INIT_CWD: directory }, [
      ...['verify', 'capture', '--key-file', 'key'],
    ]);
    const { cause, fix } = signingReasons.query_not_as_sent;
    for (const text of [cause, fix, '\n  name=a%20b\\n\n']) {
      expect(output).toContain(text);
    }
  });

  test('accepts the registered digest by option', async () => {
    const { raw } = mistakes.find(({ cause }) => cause === 'wrong_digest') as Mistake;
    expect((await verify(raw, ['--algorithm', 'MD5'])).json.isVerified).toBe(true);
  });
});

describe('gatehouse verify of a reply', () => {
  const body = '{"id":"d1"}';

  test('verifies replies of both versions, also without a body', async () => {
    const one = await replyTo('GET', booted.signed({ secureKey }), '');
    const two = booted.signedV2({ ...postOf(body), secureKey });
    const head = booted.signedV2({ method: 'HEAD', secureKey });
    expect((await verify(one)).json).toMatchObject({ isVerified: true, version: 1 });
    for (const [method, headers, sent] of [
      ['POST', two, body],
      ['HEAD', head, ''],
    ] as const) {
      const reply = await replyTo(method, headers, sent);
      const { json } = await verify(reply, [`--nonce=${headers['X-Nonce']}`]);
      expect(json).toMatchObject({ isVerified: true, version: 2 });
    }
  });

  test('names what is wrong with a reply', async () => {
    const one = await replyTo(
      'GET',
      booted.signed({ query: 'pageSize=3', secureKey }),
      '',
      '?pageSize=3',
    );
    const headers = booted.signedV2({ ...postOf(body), secureKey });
    const two = await replyTo('POST', headers, body);
    const unsigned = await replyTo('GET', booted.signed({ secureKey: 'wrong' }), '');
    // With a space, a nonce that starts with a dash would be an option.
    const nonce = [`--nonce=${headers['X-Nonce']}`];
    const withoutLength = (reply: string) => reply.replace(/Content-Length: \d+\r\n/i, '');
    const cases: [string, string, readonly string[]][] = [
      [unsigned, 'no signature', []],
      [`${withoutLength(one)}\n`, 'every byte', []],
      [one, 'did not sign', ['--algorithm', 'MD5']],
      [one.replace(/("status":)\d/, '$19'), 'did not sign', []],
      [two, 'did not sign', ['--nonce', 'q83vEjRWeJCrze8S']],
      [two.replace(' 200 ', ' 201 '), 'did not sign', nonce],
      [`${withoutLength(two)}\n`, 'every byte', nonce],
    ];
    for (const [reply, message, args] of cases) {
      const { code, json } = await verify(reply, args);
      expect([code, json.message]).toEqual([1, expect.stringContaining(message)]);
    }
    expect((await verify(unsigned)).json.message).toContain('invalid_signature');
    expect((await verify(two)).errors).toContain('--nonce');
  });

  async function replyTo(
    method: string,
    headers: Record<string, string>,
    sent: string,
    search = '',
  ): Promise<string> {
    const target = method === 'POST' ? '/device-instance' : `/api/device${search}`;
    return sendRaw(booted.port, captured(method, target, headers, sent));
  }
});

const postOf = (body: string) => ({
  method: 'POST',
  path: '/device-instance',
  contentType: 'application/json',
  body,
});

function captured(
  method: string,
  target: string,
  headers: Record<string, string>,
  body: string,
): string {
  return [
    `${method} ${target} HTTP/1.1`,
    'Host: gateway.example',
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n');
}
