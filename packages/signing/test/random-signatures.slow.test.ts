// requires: python3 cc go javac php
/** The reference signers and the verifier on random messages. signature.test.ts changes messages. */
import { buildSigner, signerLanguages } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { findMatchingKey, replyLines, requestLines } from '../src/index.ts';
import type { ReplyToSign, RequestToSign } from '../src/signed-lines.ts';
import { digest, findSigningKey, hmac } from './digests.ts';
import {
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
});

describe('the verifier of version 2', () => {
  test('accepts random requests and replies', () => {
    expect(messages.filter((each) => !isVerified2(...each))).toEqual([]);
  });
});
