import { createHash, createHmac } from 'node:crypto';
import { createWebDigests } from '@gatehouse/signing/core';
import { describe, expect, test } from '@jest/globals';
import { platformDigests } from './digests.ts';

const text = 'GATEHOUSE-V2\nGET\n/api/device\nname=ü\n';
const bytes = new TextEncoder().encode(text);

describe.each([
  ['node:crypto', platformDigests()],
  ['WebCrypto', createWebDigests()],
])('the digests of %s', (_name, digests) => {
  test.each([1, 28, 63, 64, 65, 200])('HMAC with a key of %i characters', async (length) => {
    const secureKey = 'kä'.repeat(length).slice(0, length);
    const hmac = digests.hmacWith(secureKey);
    // The second result does not depend on the first.
    for (const message of [text, 'other', '']) {
      const expected = createHmac('sha256', secureKey).update(message).digest('hex');
      expect(await hmac(message)).toBe(expected);
    }
  });

  test.each([[[text]], [[bytes]], [[bytes, '1700000000000', 'key']], [['']]])(
    'SHA-256 of the parts %#',
    async (parts) => {
      const expected = createHash('sha256');
      for (const part of parts) {
        expected.update(part);
      }
      expect(await digests.digest('SHA-256', parts)).toBe(expected.digest('hex'));
    },
  );
});
