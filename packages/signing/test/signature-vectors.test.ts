import { type RequestVector, signatureVectors } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import {
  AmbiguousTextError,
  canonicalText,
  findMatchingKey,
  isNonce,
  parseParameters,
  parseTimestamp,
  requestLines,
  sign,
  signedPart,
} from '../src/index.ts';
import { digest, findSigningKey, hmac } from './digests.ts';

const signable = [...signatureVectors.requests, ...signatureVectors.refusedRequests].filter(
  ({ signature }) => signature !== null,
);
const refused = signatureVectors.refusedRequests.filter(({ signature }) => signature === null);

function signedText({ method, contentType, query, body }: RequestVector): string | Uint8Array {
  const bytes = Buffer.from(body, 'base64');
  switch (signedPart(method, contentType)) {
    case 'query':
      return canonicalText(parseParameters(query));
    case 'form':
      return canonicalText(parseParameters(bytes.toString('utf8')));
    default:
      return bytes;
  }
}

function version1Input(vector: RequestVector) {
  const { digest: algorithm = 'SHA-256', timestamp } = vector;
  return { algorithm, signedText: signedText(vector), timestamp };
}

function linesOf(vector: RequestVector): string {
  const body = Buffer.from(vector.body, 'base64');
  return requestLines({ ...vector, nonce: vector.nonce ?? '', body }, digest);
}

describe('the signing code of the gateway', () => {
  test.each(signable.filter(({ version }) => version === 1))(
    'makes and verifies the signature of version 1: $name',
    (vector) => {
      const { secureKey, signature } = vector;
      const input = version1Input(vector);
      expect(sign(input, secureKey, digest)).toBe(signature);
      expect(findSigningKey(input, signature ?? '', [secureKey])).toBe(secureKey);
    },
  );

  test.each(signable.filter(({ version }) => version === 2))(
    'makes and verifies the signature of version 2: $name',
    (vector) => {
      const { secureKey, signature } = vector;
      const lines = linesOf(vector);
      expect(hmac(secureKey, lines)).toBe(signature);
      expect(findMatchingKey(signature ?? '', [secureKey], (key) => hmac(key, lines))).toBe(
        secureKey,
      );
    },
  );

  test('has a reason for each request that a signer must not sign', () => {
    for (const vector of refused) {
      const { name, version, timestamp, nonce = '', reason } = vector;
      const isMalformed =
        parseTimestamp(timestamp) === undefined || (version === 2 && !isNonce(nonce));
      // The packages that read requests check the other rules.
      if (reason === 'parameter_ambiguous') {
        expect(() => signedText(vector)).toThrow(AmbiguousTextError);
      } else {
        expect([name, isMalformed]).toEqual([name, !/^(?:query|body)_/.test(reason)]);
      }
    }
    expect(refused.length).toBeGreaterThan(20);
  });
});
