import type { SignerJob } from '@gatehouse/testing';
import fc from 'fast-check';
import { AmbiguousTextError, canonicalText, parseParameters } from '../src/index.ts';

const timestamp = fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 }).map(String);
const nonce = fc.stringMatching(/^[A-Za-z0-9_-]{16,64}$/);
const secureKey = fc.stringMatching(/^[!-~]{16,200}$/);
const bytes = fc.uint8Array({ maxLength: 200 });

/** Decoded text that is valid as a key or value, and some that is not. */
const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }) },
  { weight: 4, arbitrary: fc.stringMatching(/^[A-Za-z0-9 .,_~[\]-]{1,10}$/) },
);

/** The text in one of the encodings that clients use. */
const encodedText = fc.tuple(text, fc.nat({ max: 3 })).map(([plain, way]) => {
  const wellFormed = plain.toWellFormed();
  const encoded = encodeURIComponent(wellFormed);
  return [
    encoded,
    encoded.replaceAll('%20', '+'),
    encoded.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    wellFormed.replaceAll(/[%+&=#]/g, encodeURIComponent),
  ][way];
});
const pairs = fc
  .array(fc.tuple(encodedText, fc.option(encodedText)), { maxLength: 8 })
  .map((each) => each.map(([key, value]) => (value === null ? key : `${key}=${value}`)).join('&'));
const anyQuery = fc.string({ unit: 'binary', maxLength: 40 });
/** A string in C ends at a NUL, so a query contains it encoded. */
const queryOfVersion1 = fc
  .oneof(pairs, anyQuery)
  .map((raw) => raw.toWellFormed().replaceAll('\0', '%00'));

const common = { clientId: fc.constant('machine-1'), path: fc.constant('/api/device'), secureKey };
const version1 = {
  ...common,
  version: fc.constant(1 as const),
  digest: fc.constantFrom('MD5' as const, 'SHA-256' as const),
  timestamp,
};

/** A GET, which signs its query, or a POST, which signs its body. */
const requestOfVersion1 = fc.oneof(
  fc.record({
    ...version1,
    method: fc.constant('GET'),
    query: queryOfVersion1,
    contentType: fc.constant(''),
    body: fc.constant(new Uint8Array()),
  }),
  fc.record({
    ...version1,
    method: fc.constant('POST'),
    query: fc.constant(''),
    contentType: fc.constant('application/json'),
    body: text.map((body) => new TextEncoder().encode(body)),
  }),
);

/** The characters that the gateway accepts in a path and in a query. */
const path = fc.stringMatching(/^[!$->@-[\]-~]{0,40}$/).map((rest) => `/${rest}`);
const query = fc.stringMatching(/^[!$-[\]-~]{0,40}$/);

const requestOfVersion2 = fc.record({
  ...{ version: fc.constant(2 as const), timestamp, nonce, secureKey, path, query, body: bytes },
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
  contentType: fc.oneof(
    fc.constantFrom('', 'application/json', 'text/plain; charset=utf-8'),
    // Any byte of a header value. Node decodes header values as Latin-1.
    fc.stringMatching(/^[!-~\u00a0-\u00ff]{1,30}$/),
  ),
  clientId: fc.stringMatching(/^[!-~]{1,128}$/),
});

export type RequestOfVersion1 = typeof requestOfVersion1 extends fc.Arbitrary<infer T> ? T : never;
export type RequestOfVersion2 = typeof requestOfVersion2 extends fc.Arbitrary<infer T> ? T : never;

export const randomRequests = (count: number) => ({
  version1: fc.sample(requestOfVersion1, { numRuns: count, seed: 20_260_101 }),
  version2: fc.sample(requestOfVersion2, { numRuns: count, seed: 20_260_102 }),
});

const status = fc.integer({ min: 200, max: 599 });

/** Replies of version 2, each with the request that it answers. */
export const randomReplies = (count: number) =>
  fc.sample(fc.record({ request: requestOfVersion2, status, timestamp, body: bytes }), {
    numRuns: count,
    seed: 20_260_103,
  });

/** What version 1 signs, or undefined if the request is ambiguous. */
export function signedText({ method, query, body }: SignerJob): string | Uint8Array | undefined {
  if (method === 'POST') {
    return body;
  }
  try {
    return canonicalText(parseParameters(query));
  } catch (error) {
    if (error instanceof AmbiguousTextError) {
      return undefined;
    }
    throw error;
  }
}

/** Changes one byte, but never to a line feed, which no part of a request can contain. */
export function changeByte(bytes: Uint8Array, at: number): Buffer {
  const changed = Buffer.from(bytes);
  const index = at % changed.length;
  const before = changed[index] ?? 0;
  const after = before ^ (1 << (at % 7));
  changed[index] = after === 0x0a ? before ^ 0x80 : after;
  return changed;
}
