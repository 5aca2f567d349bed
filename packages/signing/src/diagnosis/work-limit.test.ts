import { describe, expect, test } from '@jest/globals';
import { diagnoseSignature, type FailedRequest } from '../index.ts';
import { jsonSpellings } from './json-spellings.ts';
import { version1Attempts } from './version-1-attempts.ts';
import { version2Attempts } from './version-2-attempts.ts';
import { MAXIMUM_DIGESTS, MAXIMUM_SIGNED_BYTES } from './work-limit.ts';

const KEY_LENGTH = 32;
const keyOf = (letter: string) => letter.repeat(KEY_LENGTH);

/** Diagnoses with keys that did not sign, and returns the length of each digest's input. */
function workOn(request: Partial<FailedRequest>, letters: readonly string[]): readonly number[] {
  const work: number[] = [];
  const [newest = '', older = '', first = '', second = ''] = letters.map(keyOf);
  const found = diagnoseSignature(
    {
      ...{ version: 1, signature: 'f'.repeat(64), method: 'POST', path: '/device-instance' },
      ...{ query: '', contentType: 'application/json', body: new Uint8Array() },
      ...{ clientId: 'demo', timestamp: '1574993804802', nonce: 'q83vEjRWeJCrze8S' },
      ...request,
    },
    { active: [newest, older], removed: [first, second], algorithm: 'SHA-256' },
    {
      digest(_algorithm, parts) {
        work.push(parts.reduce((sum, part) => sum + Buffer.from(part).length, 0));
        return 'e'.repeat(64);
      },
      hmac(key, text) {
        work.push(Buffer.byteLength(key + text));
        return 'e'.repeat(64);
      },
    },
  );
  expect(found).toBeUndefined();
  return work;
}

const json = (bytes: number) =>
  JSON.stringify(Array.from({ length: bytes / 20 }, (_, id) => ({ id, name: 'é/' })));
const form = 'application/x-www-form-urlencoded';

describe.each([1, 2] as const)('the diagnosis of version %d', (version) => {
  test.each<[string, Partial<FailedRequest>]>([
    ['a query', { method: 'GET', query: 'b=%20&a=1&a=2', contentType: '' }],
    ['no query', { method: 'GET', contentType: '' }],
    ['a long query', { method: 'GET', query: 'a=1&'.repeat(3800), contentType: '' }],
    ['many keys', { method: 'GET', query: 'a&'.repeat(250), contentType: '' }],
    ['a form', { contentType: form, body: Buffer.from('b=%20&a=1') }],
    ['a large form', { contentType: form, body: Buffer.from('a&'.repeat(30_000)) }],
    ['no body', {}],
    ...[100, 1000, 5000, 20_000, 60_000, 200_000].map((bytes): [string, Partial<FailedRequest>] => [
      `JSON of ${bytes} bytes`,
      { body: Buffer.from(json(bytes)) },
    ]),
    ['nested JSON', { body: Buffer.from('['.repeat(4000) + ']'.repeat(4000)) }],
    ['binary data', { body: Buffer.alloc(1000, 0xff) }],
    ['an MD5', { signature: 'f'.repeat(32), body: Buffer.from(json(100)) }],
  ])('of %s is bounded and does not depend on the keys', (_name, request) => {
    const work = workOn({ version, ...request }, ['a', 'b', 'c', 'd']);
    expect(work.length).toBeLessThanOrEqual(MAXIMUM_DIGESTS);
    const keys = work.length * (KEY_LENGTH + 2);
    expect(work.reduce((sum, bytes) => sum + bytes, 0) - keys).toBeLessThanOrEqual(
      MAXIMUM_SIGNED_BYTES,
    );
    expect(workOn({ version, ...request }, ['e', 'f', 'g', 'h'])).toEqual(work);
  });
});

test.each([
  [1, version1Attempts],
  [2, version2Attempts],
] as const)(
  'An attempt of version %d declares the digests that it computes.',
  (version, attemptsOf) => {
    let computed = 0;
    const count = () => {
      computed += 1;
      return 'e'.repeat(64);
    };
    const attempts = attemptsOf(
      {
        ...{ version, signature: 'f'.repeat(64), method: 'POST', path: '/device-instance' },
        ...{ query: '', contentType: 'application/json', body: Buffer.from(json(100)) },
        ...{ clientId: 'demo', timestamp: '1574993804802', nonce: 'q83vEjRWeJCrze8S' },
      },
      { digest: count, hmac: count, algorithm: 'SHA-256' },
    );
    for (const { mistakes, digests, sign } of attempts) {
      sign(keyOf('a'));
      expect([mistakes, computed]).toEqual([mistakes, digests]);
      computed = 0;
    }
  },
);

test('Deep JSON is not indented, because that would make it quadratically longer.', () => {
  expect(jsonSpellings('['.repeat(32) + ']'.repeat(32))).not.toEqual([]);
  expect(jsonSpellings('['.repeat(33) + ']'.repeat(33))).toEqual([]);
});
