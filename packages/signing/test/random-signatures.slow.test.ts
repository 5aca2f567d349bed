// requires: python3 cc go javac php
/** The reference signers and the verifier on random messages, and on each one with a change. */
import { buildSigner, signerLanguages } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { findMatchingKey, replyLines, requestLines } from '../src/index.ts';
import type { ReplyToSign, RequestToSign } from '../src/signed-lines.ts';
import { digest, findSigningKey, hmac } from './digests.ts';
import {
  changeByte,
  type RequestOfVersion1,
  randomReplies,
  randomRequests,
  signedText,
} from './random-messages.ts';

const RUNS = 10_000;
const { version1, version2 } = randomRequests(RUNS);
const replies = randomReplies(RUNS / 10);

const signer = await buildSigner('python');
const signatures1 = signer.answer(version1);
const signatures2 = signer.answer(version2);
const replySignatures = replies.map(({ request, ...reply }) =>
  hmac(request.secureKey, replyLines({ ...reply, nonce: request.nonce }, digest)),
);
signer.remove();

function isVerified1(request: RequestOfVersion1, signature: string): boolean {
  const text = signedText(request);
  if (text === undefined) {
    return false;
  }
  const input = { algorithm: request.digest, signedText: text, timestamp: request.timestamp };
  return findSigningKey(input, signature, [request.secureKey]) !== undefined;
}

type Keyed<Message> = Message & { readonly secureKey: string };
type Message = Keyed<RequestToSign> | Keyed<ReplyToSign>;

function isVerified2(message: Message, signature: string): boolean {
  const lines = 'status' in message ? replyLines(message, digest) : requestLines(message, digest);
  return findMatchingKey(signature, [message.secureKey], (key) => hmac(key, lines)) !== undefined;
}

const messages: readonly (readonly [message: Message, signature: string])[] = [
  ...version2.map(({ version, ...request }, at) => [request, signatures2[at] ?? ''] as const),
  ...replies.map(({ request, ...reply }, at) => {
    const { nonce, secureKey } = request;
    return [{ ...reply, nonce, secureKey }, replySignatures[at] ?? ''] as const;
  }),
];

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

/** With one byte of the signature changed. A digit in the other case is the same digit. */
function changedSignature(signature: string, at: number) {
  const presented = changeByte(Buffer.from(signature), at).toString('latin1');
  return { presented, isSame: presented.toLowerCase() === signature };
}

describe.each(signerLanguages)('the signer in %s', (language) => {
  test('agrees with the verifier on random requests and replies', async () => {
    const other = await buildSigner(language);
    const answers1 = other.answer(version1);
    const answers2 = other.answer(version2);
    const verdicts = other.answer(
      replies.map(({ request, ...reply }, at) => ({
        ...request,
        reply: { ...reply, signature: replySignatures[at] ?? '' },
      })),
    );
    other.remove();
    expect(version1.filter((_, at) => answers1[at] !== signatures1[at])).toEqual([]);
    expect(version2.filter((_, at) => answers2[at] !== signatures2[at])).toEqual([]);
    expect(replies.filter((_, at) => verdicts[at] !== 'valid')).toEqual([]);
  });
});

describe('the verifier of version 1', () => {
  test('accepts a random request, or rejects it if the signer refuses it', () => {
    const verdicts = version1.map((request, at) => isVerified1(request, signatures1[at] ?? ''));
    expect(verdicts).toEqual(signatures1.map((signature) => signature !== 'refused'));
    // Enough of the generated requests must be valid.
    expect(verdicts.filter(Boolean).length).toBeGreaterThan(RUNS / 2);
  });

  test('accepts the signature of no request with another byte', () => {
    version1.forEach((request, at) => {
      const signature = signatures1[at] ?? '';
      const text = signedText(request);
      if (text === undefined) {
        return;
      }
      const accepts = (change: Partial<RequestOfVersion1>, presented = signature) =>
        isVerified1({ ...request, ...change } as RequestOfVersion1, presented);
      const { presented, isSame } = changedSignature(signature, at);
      const { timestamp, secureKey, body, query } = request;
      expect(accepts({}, presented)).toBe(isSame);
      expect(accepts({ timestamp: changeByte(Buffer.from(timestamp), at).toString() })).toBe(false);
      expect(accepts({ secureKey: changeByte(Buffer.from(secureKey), at).toString() })).toBe(false);
      expect(accepts({ digest: request.digest === 'MD5' ? 'SHA-256' : 'MD5' })).toBe(false);
      if (body.length > 0) {
        expect(accepts({ body: Uint8Array.from(changeByte(body, at)) })).toBe(false);
      } else if (query !== '') {
        // Another encoding of the same parameters is the same request, which is always forwarded in
        // the same encoding.
        const changed = changeByte(Buffer.from(query), at).toString('utf8');
        expect(accepts({ query: changed })).toBe(
          signedText({ ...request, query: changed }) === text,
        );
      }
    });
  });
});

describe('the verifier of version 2', () => {
  test('accepts random requests and replies', () => {
    expect(messages.filter((each) => !isVerified2(...each))).toEqual([]);
  });

  test('accepts the signature of no message with another byte', () => {
    let changes = 0;
    const accepted: unknown[] = [];
    messages.forEach(([message, signature], at) => {
      for (const change of changesOf(message, at)) {
        changes += 1;
        if (isVerified2({ ...message, ...change }, signature)) {
          accepted.push([message, change]);
        }
      }
    });
    expect(accepted).toEqual([]);
    expect(changes).toBeGreaterThan(10 * RUNS);
  });

  test('rejects a signature with another byte', () => {
    const accepted = messages.filter(([message, signature], at) => {
      const { presented, isSame } = changedSignature(signature, at);
      return isVerified2(message, presented) !== isSame;
    });
    expect(accepted).toEqual([]);
  });
});
