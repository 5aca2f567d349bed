// requires: python3
import { spawnSync } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Digest,
  findLinesKey,
  type Hmac,
  type ReplyToSign,
  type RequestToSign,
  replyLines,
  requestLines,
} from '../src/index.ts';

const script = fileURLToPath(new URL('independent_signer_v2.py', import.meta.url));
const vectors = new URL('../vectors/signature-v2-vectors.json', import.meta.url);
const RUNS = 10_000;

const digest: Digest = (_algorithm, parts) => {
  const hash = createHash('sha256');
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest('hex');
};
const hmac: Hmac = (secureKey, text) => createHmac('sha256', secureKey).update(text).digest('hex');

/** The characters that llhttp and the gateway accept in a request target. */
const target = fc.stringMatching(/^[!$-[\]-~]{0,40}$/);
const common = {
  body: fc.uint8Array({ maxLength: 200 }),
  timestamp: fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 }).map(String),
  nonce: fc.stringMatching(/^[A-Za-z0-9_-]{16,64}$/),
  secureKey: fc.stringMatching(/^[!-~]{16,200}$/),
};
const request = fc.record({
  ...common,
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
  path: target.map((rest) => `/${rest}`),
  query: target,
  contentType: fc.oneof(
    fc.constantFrom('', 'application/json', 'text/plain; charset=utf-8'),
    // Any byte of a header value. Node decodes header values as Latin-1.
    fc.stringMatching(/^[!-~\u00a0-\u00ff]{1,30}$/),
  ),
  clientId: fc.stringMatching(/^[!-~]{1,128}$/),
});
const reply = fc.record({ ...common, status: fc.integer({ min: 200, max: 599 }) });

type Keyed<Message> = Message & { readonly secureKey: string };
type Message = Keyed<RequestToSign> | Keyed<ReplyToSign>;

const messages: readonly Message[] = [
  ...fc.sample(request, { numRuns: RUNS, seed: 20_260_102 }),
  ...fc.sample(reply, { numRuns: RUNS / 10, seed: 20_260_103 }),
];

function independentSignatures(inputs: readonly object[]): readonly string[] {
  const { stdout, stderr, status } = spawnSync('python3', [script], {
    input: inputs.map((each) => JSON.stringify(each)).join('\n'),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) {
    throw new Error(stderr);
  }
  return stdout.trim().split('\n');
}

const linesOf = (message: Message): string =>
  'status' in message ? replyLines(message, digest) : requestLines(message, digest);

const isVerified = (message: Message, signature: string): boolean =>
  findLinesKey(linesOf(message), signature, [message.secureKey], hmac) !== undefined;

/** Changes one byte, but never to a line feed, which no part can contain. */
function changeByte(bytes: Uint8Array, at: number): Buffer {
  const changed = Buffer.from(bytes);
  const index = at % changed.length;
  const before = changed[index] ?? 0;
  const after = before ^ (1 << (at % 7));
  changed[index] = after === 0x0a ? before ^ 0x80 : after;
  return changed;
}

/** For every part, the message with one byte changed, and the message without the first byte. */
function changesOf(message: Message, at: number): readonly Partial<RequestToSign>[] {
  return Object.entries(message).flatMap(([part, value]) => {
    if (value.length === 0 || typeof value === 'number') {
      return [];
    }
    const changed = changeByte(
      typeof value === 'string' ? Buffer.from(value, 'latin1') : value,
      at,
    );
    return [
      { [part]: part === 'body' ? changed : changed.toString('latin1') },
      { [part]: value.slice(1) },
    ];
  });
}

describe('an independent signer of version 2', () => {
  const signatures = independentSignatures(
    messages.map((each) => ({ ...each, body: Buffer.from(each.body).toString('base64') })),
  );

  test('SG-19 SG-39 agrees with the verifier on 10,000 random requests and 1,000 replies', () => {
    expect(signatures).toHaveLength(RUNS * 1.1);
    expect(messages.filter((each, at) => !isVerified(each, signatures[at] ?? ''))).toEqual([]);
  });

  test('SG-19 SG-39 makes signatures that no message with another byte has', () => {
    let changes = 0;
    const accepted: unknown[] = [];
    messages.forEach((each, at) => {
      for (const change of changesOf(each, at)) {
        changes += 1;
        if (isVerified({ ...each, ...change }, signatures[at] ?? '')) {
          accepted.push([each, change]);
        }
      }
    });
    expect(accepted).toEqual([]);
    expect(changes).toBeGreaterThan(10 * RUNS);
  });

  test('SG-19 SG-39 makes signatures that the verifier rejects if one byte differs', () => {
    const accepted = messages.filter((each, at) => {
      const presented = changeByte(Buffer.from(signatures[at] ?? ''), at).toString('latin1');
      // A change that only affects the case of a hexadecimal digit is accepted.
      return isVerified(each, presented) !== (presented.toLowerCase() === signatures[at]);
    });
    expect(accepted).toEqual([]);
  });

  test('SG-19 makes the signatures of the test vectors', () => {
    const known = JSON.parse(readFileSync(vectors, 'utf8'));
    expect(known.map(({ signature }: { signature: string }) => signature)).toEqual(
      independentSignatures(known),
    );
  });
});
