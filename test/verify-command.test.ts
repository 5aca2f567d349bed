// requires: curl
/** `gatehouse sign` and `gatehouse verify` agree with a running gateway. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { runGatehouse } from '../apps/cli/test/run-gatehouse.ts';
import { bootGateway, closeUnharmed } from '../apps/gateway/test/booted-gateway.ts';
import { sendRaw } from '../apps/gateway/test/http-client.ts';

const json = '{"id":"d1"}';
const postOf = { method: 'POST', path: '/device-instance', contentType: 'application/json' };
const directory = temporaryFolder();
const write = (name: string, content: string) => writeFileSync(join(directory, name), content);
const booted = await bootGateway();
afterAll(() => closeUnharmed(booted));
write('key', `${booted.secureKey}\n`);
write('body', json);
const gatehouse = (...args: readonly string[]) =>
  runGatehouse({ INIT_CWD: directory }, [...args, '--key-file', 'key', '--json']);

function verify(capture: string, ...args: readonly string[]) {
  write('capture', capture);
  return gatehouse('verify', 'capture', ...args);
}

function captured(method: string, target: string, headers: Record<string, string>, body = '') {
  const lines = { Host: 'gateway.example', Connection: 'close', ...headers };
  return [
    `${method} ${target} HTTP/1.1`,
    ...Object.entries(lines).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n');
}

const body = `{"id":"d1","name":"it's \\"quoted\\" $HOME \`id\` 张\\n"}\n\n`;

test.each([
  ['GET', '/api/device?pageSize=20&where=name%20like%20%25%E5%BC%A0%25&a=%2B'],
  ['GET', "/api/device?where=it's[1]{2}&a=!$HOME"],
  ['HEAD', '/api/device?pageSize=20'],
  ['DELETE', '/api/v1/device/d1'],
  ['POST', '/device-instance', '--body-file', "it's a body.json"],
  ['POST', '/api/v1/device/d1/_deploy'],
  [
    ...['POST', '/device-instance', '--body-file', 'form'],
    ...['--content-type', 'application/x-www-form-urlencoded; charset=utf-8'],
  ],
  ['POST', '/device-instance', '--body-file', "it's a body.json", '--content-type', ''],
])('the gateway accepts the pasted commands for %s %s %s %s', async (...args) => {
  write("it's a body.json", body);
  write('form', 'b=2&a=%20x');
  const signed = await gatehouse('sign', ...args, '--client', 'demo');
  for (const version of ['version1', 'version2']) {
    booted.upstream.requests.length = 0;
    const command = `${signed.json[version].curl} --silent --max-time 10`;
    const { stdout } = await promisify(execFile)('sh', ['-c', command], {
      cwd: directory,
      env: { ...process.env, GATEWAY_URL: `http://127.0.0.1:${booted.port}` },
    });
    expect(stdout).toMatch(/^HTTP\/1\.1 20[04] /);
    expect(booted.upstream.requests).toHaveLength(1);
  }
});

describe('gatehouse verify', () => {
  // packages/signing and the vectors of the gateway have all mistakes.
  test.each([
    ['query_not_signed', '/api/device?a=1', (time: string, key: string) => time + key],
    ['parameters_unsorted', '/api/device?b=1&a=2', (t: string, key: string) => `b=1&a=2${t}${key}`],
    ['invalid_signature', '/api/device', () => 'without the key'],
  ])('names %s as the gateway does', async (cause, target, text) => {
    const time = String(Date.now());
    const sign = createHash('sha256').update(text(time, booted.secureKey)).digest('hex');
    const headers = { 'X-Client-Id': 'demo', 'X-Timestamp': time, 'X-Sign': sign };
    const raw = captured('GET', target, headers);
    const offline = await verify(raw);
    const reply = await sendRaw(booted.port, Buffer.from(raw));
    expect([offline.code, offline.json.causes[0]?.name]).toEqual([1, cause]);
    expect(reply).toContain(`"code":"${offline.json.code}"`);
    expect(booted.logLines().at(-1)?.reason).toBe(cause);
    expect(offline.output + offline.errors).not.toContain(booted.secureKey);
  });

  test('reads captures with LF, with a marker of curl, and with trailing bytes', async () => {
    const raw = captured(
      'POST',
      '/device-instance',
      booted.signedV2({ ...postOf, body: json }),
      json,
    );
    const typed = raw.replace('Host:', 'Content-Type: application/json\r\nHost:');
    const head = typed.slice(0, typed.indexOf('\r\n\r\n')).split('\r\n');
    const verbose = head.map((line) => `> ${line}\r\n`).join('');
    const captures: [string, ...string[]][] = [
      [typed.replaceAll('\r\n', '\n')],
      [`\r\n${typed}\n`],
      [typed.replace(/Content-Length: \d+\r\n/, '')],
      [typed.replace('POST /', 'POST http://gateway.example/')],
      [typed.replace('HTTP/1.1', 'HTTP/2').replaceAll('X-', 'x-')],
      [`* Connected\n${verbose}>\r\n* done\n< HTTP/1.1 401 No\n<\n`, '--body-file', 'body'],
    ];
    for (const capture of captures) {
      const { json, errors } = await verify(...capture);
      expect([json.isVerified, errors]).toEqual([true, '']);
    }
  });

  test.each([
    ['{"status":401}', 'first line'],
    ['GET / HTTP/1.1\nno header', 'Headers with a value follow'],
    ['POST / HTTP/1.1\nContent-Length: 9\n\nshort', 'only a part of the body'],
    ['POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n0\n\n', '--body-file'],
  ])('rejects the capture %j', async (capture, problem) => {
    const { code, errors } = await verify(capture);
    expect([code, errors]).toEqual([2, expect.stringContaining(problem)]);
  });

  test('verifies replies of both versions, and names what is wrong with a reply', async () => {
    const send = (raw: string) => sendRaw(booted.port, Buffer.from(raw));
    const one = await send(captured('GET', '/api/device', booted.signed({})));
    const headers: Record<string, string> = {
      ...booted.signedV2({ ...postOf, body: json }),
      'Content-Type': 'application/json',
    };
    const two = await send(captured('POST', '/device-instance', headers, json));
    // With a space, a nonce that starts with a dash would be an option.
    const nonce = `--nonce=${headers['X-Nonce']}`;
    expect((await verify(one)).json).toMatchObject({ isVerified: true, version: 1 });
    expect((await verify(two, nonce)).json).toMatchObject({ isVerified: true, version: 2 });
    const cases: [string, string, ...string[]][] = [
      [await send(captured('GET', '/api/device', {})), 'no signature'],
      [`${one.replace(/Content-Length: \d+\r\n/i, '')}\n`, 'every byte'],
      [one, 'did not sign', '--algorithm', 'MD5'],
      [two, 'did not sign', '--nonce', 'q83vEjRWeJCrze8S'],
      [two.replace(' 200 ', ' 201 '), 'did not sign', nonce],
    ];
    for (const [reply, message, ...args] of cases) {
      const { code, json } = await verify(reply, ...args);
      expect([code, json.message]).toEqual([1, expect.stringContaining(message)]);
    }
    expect((await verify(two)).errors).toContain('--nonce');
  });
});
