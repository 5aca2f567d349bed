import { createHash, createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { visibleLines } from '../src/command-line/format.ts';
import { runGatehouse } from './run-gatehouse.ts';

const secureKey = 'testSecure-0123456789';
const timestamp = '1574993804802';
const nonce = 'q83vEjRWeJCrze8S';
const directory = temporaryFolder();

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
function file(name: string, content: string | Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

/** Without a store: the environment names none. */
const sign = (args: readonly string[], stdin?: Parameters<typeof runGatehouse>[2]) =>
  runGatehouse({}, ['sign', '--client', 'machine-1', '--timestamp', timestamp, ...args], stdin);

const signWithFile = (args: readonly string[], stdin?: string) =>
  sign(['--nonce', nonce, '--key-file', file('key', `${secureKey}\n`), ...args], stdin);

describe('gatehouse sign', () => {
  test('prints the signatures of the documentation without a store', async () => {
    const url = '/api/device?pageSize=20&pageIndex=0';
    const { code, json } = await signWithFile(['GET', url, '--json']);
    expect(code).toBe(0);
    expect(json.version1).toMatchObject({
      algorithm: 'SHA-256',
      signedAs: 'query',
      signedText: 'pageIndex=0&pageSize=20',
    });
    const digest = sha256(`pageIndex=0&pageSize=20${timestamp}${secureKey}`);
    expect(json.version1.headers['X-Sign']).toBe(digest);
    expect(json.version2.headers['X-Sign-V2']).toBe(
      '0e4072accf3a26b497a0eca4091b4bc515883b523f97362ef600a94a07aa3a1a',
    );
    expect(json.version2.lines).toHaveLength(9);
  });

  test('signs the bytes of a body from a file and from standard input', async () => {
    const body = '{"id":"d1"}\r\n';
    for (const [path, stdin] of [
      [file('body.json', body), ''],
      ['-', body],
    ] as const) {
      const args = ['POST', '/device-instance', '--body-file', path, '--json'];
      const { json } = await signWithFile(args, stdin);
      expect(json.version1).toMatchObject({ signedAs: 'body', signedText: body });
      expect(json.version2.lines.slice(4, 6)).toEqual(['application/json', sha256(body)]);
      const hmac = createHmac('sha256', secureKey).update(json.version2.lines.join('\n'));
      expect(json.version2.headers['X-Sign-V2']).toBe(hmac.digest('hex'));
    }
  });

  test('reads the key from standard input and from a hidden prompt', async () => {
    const args = ['GET', '/x', '--json'];
    const expected = sha256(`${timestamp}${secureKey}`);
    for (const stdin of [`${secureKey}\n`, { typed: [secureKey] }]) {
      const { json, output, errors } = await sign(args, stdin);
      expect(json.version1.headers['X-Sign']).toBe(expected);
      expect(output + errors).not.toContain(secureKey);
    }
  });

  test('never prints the key and takes no key as an argument', async () => {
    const { output, errors } = await signWithFile(['GET', '/x?a=1']);
    expect(output + errors).not.toContain(secureKey);
    const refused = await sign(['GET', '/x', '--key', secureKey]);
    expect(refused.code).toBe(2);
    expect(refused.output + refused.errors).not.toContain(secureKey);
  });

  test('explains why a version cannot sign the request', async () => {
    const path = file('body.json', '{}');
    const { output } = await signWithFile(['POST', '/x?a=1', '--body-file', path]);
    expect(output).toContain('Version 1 cannot sign this request:\n  The signature of this method');
    expect(output).toContain('Version 2 signs this text:\n');
    const latin1 = file('latin1', Buffer.from([0xe9]));
    const { json } = await signWithFile(['POST', '/x', '--body-file', latin1, '--json']);
    expect(json.version1).toEqual({ problem: expect.stringContaining('UTF-8') });
  });

  test.each([
    [['GET', 'gateway.example/x'], '<url>'],
    [['GET', '/x?a=张'], 'percent-encoded'],
    [['GET', '/a/../b'], '<url>'],
    [['G T', '/x'], '<method>'],
    [['GET', '/x', '--body-file', '/nowhere'], 'does not exist'],
    [['GET', '/x', '--content-type', 'a\nb'], 'ASCII'],
    [['GET', '/x', '--timestamp', '1574993804'], '--timestamp'],
    [['GET', '/x', '--key-file', file('spaced', ' key ')], 'whitespace'],
    [['GET', '/x', '--key-file', file('empty', '\n')], 'empty'],
    [['GET'], "missing required argument 'url'"],
  ])('rejects %j', async (args, problem) => {
    const { code, errors } = await signWithFile(args);
    expect(code).toBe(2);
    expect(errors).toContain(problem);
  });
});

test('Every character that a reader cannot see is shown as an escape.', () => {
  const text = 'a\tb \r\nc\\\u2060\u00a0\u202e\u001b[31m张 é\n';
  expect(visibleLines(text)).toBe(
    '  a\\tb\\u{20}\\r\\n\n  c\\\\\\u{2060}\\u{a0}\\u{202e}\\u{1b}[31m张 é\\n',
  );
});
