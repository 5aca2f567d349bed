interface ReplyMistake {
  readonly cause: string;
  readonly fix: string;
  /** The section of docs/signing.md. */
  readonly section: string;
}

const version1 = 'the-reply-of-version-1';
const version2 = 'the-reply-of-version-2';

/** Why a reply does not verify. Requests have reasons in packages/errors. */
export const replyMistakes = {
  reply_unsigned: {
    cause: 'The reply has no signature.',
    fix: 'Read code and message in the body: the gateway did not verify the request, or a proxy replied in its place. Check the request with gatehouse verify.',
    section: version1,
  },
  reply_body_changed: {
    cause:
      'The signature belongs to different bytes: the line breaks of the body were changed, or the last one is missing.',
    fix: 'Verify the received bytes before you decode, trim or parse the body.',
    section: version1,
  },
  reply_other_digest: {
    cause: 'The signature was computed with a different digest than the expected one.',
    fix: 'Verify with the digest that is registered for the client.',
    section: version1,
  },
  reply_signature_wrong: {
    cause: 'The secure key did not sign this reply, or the body or X-Timestamp was changed.',
    fix: 'Use the key that signed the request, and compare the received bytes. Otherwise, do not trust the reply.',
    section: version1,
  },
  reply_v2_signature_wrong: {
    cause:
      'The secure key did not sign this reply to a request with this nonce, or status, body or X-Timestamp was changed.',
    fix: 'Use the key and the X-Nonce of the request. Otherwise, do not trust the reply.',
    section: version2,
  },
} as const satisfies Readonly<Record<string, ReplyMistake>>;

export type ReplyMistakeName = keyof typeof replyMistakes;
