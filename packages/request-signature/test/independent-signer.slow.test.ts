// requires: python3
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  AmbiguousTextError,
  canonicalText,
  type Digest,
  encodeParameters,
  findSigningKey,
  parseParameters,
} from '../src/index.ts';

const script = fileURLToPath(new URL('independent_signer.py', import.meta.url));
const RUNS = 10_000;

const digest: Digest = (algorithm, parts) => {
  const hash = createHash(algorithm === 'MD5' ? 'md5' : 'sha256');
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest('hex');
};

const common = {
  digest: fc.constantFrom('MD5' as const, 'SHA-256' as const),
  timestamp: fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 }).map(String),
  secureKey: fc.stringMatching(/^[A-Za-z0-9]{16,64}$/),
};

/** Decoded text that is valid as a key or value, and some that is not. */
const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }) },
  { weight: 4, arbitrary: fc.stringMatching(/^[A-Za-z0-9 .,_~[\]-]{1,10}$/) },
);

/** The text in one of the encodings that clients use. */
const written = fc.tuple(text, fc.nat({ max: 3 })).map(([plain, way]) => {
  const wellFormed = plain.toWellFormed();
  const encoded = encodeURIComponent(wellFormed);
  return [
    encoded,
    encoded.replaceAll('%20', '+'),
    encoded.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    wellFormed.replaceAll(/[%+&=#]/g, encodeURIComponent),
  ][way];
});
const query = fc
  .array(fc.tuple(written, fc.option(written)), { maxLength: 8 })
  .map((pairs) =>
    pairs.map(([key, value]) => (value === null ? key : `${key}=${value}`)).join('&'),
  );
const request = fc.oneof(
  fc.record({ ...common, query }),
  fc.record({
    ...common,
    query: fc.string({ unit: 'binary', maxLength: 40 }).map((raw) => raw.toWellFormed()),
  }),
  fc.record({ ...common, body: fc.uint8Array({ maxLength: 200 }) }),
);
type Request = typeof request extends fc.Arbitrary<infer Value> ? Value : never;

const requests = fc.sample(request, { numRuns: RUNS, seed: 20_260_101 });

function independentSignatures(): readonly string[] {
  const lines = requests.map((each) =>
    JSON.stringify(
      'body' in each ? { ...each, body: Buffer.from(each.body).toString('base64') } : each,
    ),
  );
  const { stdout, stderr, status } = spawnSync('python3', [script], {
    input: lines.join('\n'),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) {
    throw new Error(stderr);
  }
  return stdout.trim().split('\n');
}

/** The signed text, or undefined if the request is ambiguous. */
function signedTextOf(each: Request): string | Uint8Array | undefined {
  if ('body' in each) {
    return each.body;
  }
  try {
    return canonicalText(parseParameters(each.query));
  } catch (error) {
    if (error instanceof AmbiguousTextError) {
      return undefined;
    }
    throw error;
  }
}

function isVerified(each: Request, signature: string): boolean {
  const signedText = signedTextOf(each);
  if (signedText === undefined) {
    return false;
  }
  const input = { algorithm: each.digest, signedText, timestamp: each.timestamp };
  return findSigningKey(input, signature, [each.secureKey], digest) !== undefined;
}

/** Changes one byte. */
function changeByte(bytes: Uint8Array, at: number): Buffer {
  const changed = Buffer.from(bytes);
  const index = at % changed.length;
  changed[index] = (changed[index] ?? 0) ^ (1 << (at % 7));
  return changed;
}

describe('an independent signer of version 1', () => {
  const signatures = independentSignatures();

  test('SG-39 agrees with the verifier on 10,000 random requests', () => {
    expect(signatures).toHaveLength(RUNS);
    let good = 0;
    requests.forEach((each, index) => {
      const signature = signatures[index] ?? '';
      if (signature === 'ambiguous') {
        expect(signedTextOf(each)).toBeUndefined();
      } else {
        expect(isVerified(each, signature)).toBe(true);
        good += 1;
      }
    });
    // Enough of the generated requests must be valid.
    expect(good).toBeGreaterThan(RUNS / 2);
  });

  test('SG-39 makes signatures that no request with another byte has', () => {
    requests.forEach((each, at) => {
      const signature = signatures[at] ?? '';
      const text = signedTextOf(each);
      if (signature === 'ambiguous' || text === undefined) {
        return;
      }
      const accepts = (change: Partial<Request>, presented = signature) =>
        isVerified({ ...each, ...change } as Request, presented);
      expect(accepts({}, changeByte(Buffer.from(signature), at).toString('latin1'))).toBe(
        // A change that only affects the case of a hexadecimal digit is accepted.
        changeByte(Buffer.from(signature), at).toString('latin1').toLowerCase() === signature,
      );
      expect(accepts({ timestamp: changeByte(Buffer.from(each.timestamp), at).toString() })).toBe(
        false,
      );
      expect(accepts({ secureKey: changeByte(Buffer.from(each.secureKey), at).toString() })).toBe(
        false,
      );
      expect(accepts({ digest: each.digest === 'MD5' ? 'SHA-256' : 'MD5' })).toBe(false);
      if ('body' in each) {
        if (each.body.length > 0) {
          expect(accepts({ body: Uint8Array.from(changeByte(each.body, at)) })).toBe(false);
        }
      } else if (each.query !== '') {
        // Another encoding of the same parameters is the same request, which is always forwarded in
        // the same encoding.
        const query = changeByte(Buffer.from(each.query), at).toString('utf8');
        expect(accepts({ query })).toBe(signedTextOf({ ...each, query } as Request) === text);
      }
    });
  });

  test('SG-05 SG-11 reads a forwarded query as the parameters that were verified', () => {
    for (const each of requests) {
      if ('query' in each && signedTextOf(each) !== undefined) {
        const parameters = parseParameters(each.query);
        const forwarded = parseParameters(encodeParameters(parameters));
        expect(forwarded).toEqual(parameters);
      }
    }
  });
});
