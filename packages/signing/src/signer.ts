/**
 * Signs requests and verifies their replies, with digests that may be asynchronous. The client
 * library and the explorer use it.
 */
import { parseEnvelope } from './envelope.ts';
import {
  type Digest,
  findMatchingKey,
  isTimely,
  parseTimestamp,
  type SignatureAlgorithm,
} from './signature.ts';
import { type RequestToSign, replyLines, requestLines } from './signed-lines.ts';
import { canonicalText, parseParameters, signedPart } from './version-1-text.ts';

/** Results are lower-case hexadecimal digits. Text is encoded as UTF-8. */
export interface Digests {
  digest(...args: Parameters<Digest>): string | Promise<string>;
  /** HMAC-SHA-256 with this key. */
  hmacWith(secureKey: string): (text: string) => string | Promise<string>;
}

/** A request as it is signed and sent, and its time in epoch milliseconds. Version 1 ignores the nonce. */
export type SignableRequest = Omit<RequestToSign, 'clientId' | 'timestamp'> & {
  readonly timestamp: number;
};

export interface SignedReply {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** The body as received. */
  readonly bytes: Uint8Array;
}

export interface RequestSignature {
  readonly headers: Readonly<Record<string, string>>;
  /** What version 1 signs together with the timestamp, or the nine lines of version 2. */
  readonly signedText: string | Uint8Array;
  /** Whether the gateway signed this reply, as the reply to this request. */
  isVerified(reply: SignedReply): Promise<boolean>;
}

/** Signs with one of the two versions of docs/signing.md. */
export interface Signer {
  /** Whether a nonce ties each reply to one request, so that nobody can present another reply. */
  readonly hasNonce: boolean;
  /** @throws AmbiguousTextError */
  sign(request: SignableRequest): Promise<RequestSignature>;
}

const MAXIMUM_LEAD_MILLISECONDS = 1000;

/** A digest of the query or the body, the time and the secure key. */
export function createVersion1Signer(
  client: {
    readonly clientId: string;
    readonly secureKey: string;
    readonly algorithm: SignatureAlgorithm;
  },
  digests: Digests,
): Signer {
  const { clientId, secureKey, algorithm } = client;
  let latest = 0;
  const digest = (signedText: string | Uint8Array, timestamp: string) =>
    digests.digest(algorithm, [signedText, timestamp, secureKey]);

  /** Two equal requests in one millisecond would have the same signature, which is used once. */
  function unusedTimestamp(now: number): number {
    latest = Math.min(Math.max(now, latest + 1), now + MAXIMUM_LEAD_MILLISECONDS);
    return latest;
  }

  /** The signature covers neither the status nor the request, so the body must confirm them. */
  async function isVerified({ status, headers, bytes }: SignedReply, sentAt: number) {
    const signature = headers.get('x-sign') ?? '';
    const timestamp = headers.get('x-timestamp') ?? '';
    const expected = await digest(bytes, timestamp);
    const repliedAt = parseTimestamp(timestamp);
    return (
      findMatchingKey(signature, [secureKey], () => expected) !== undefined &&
      repliedAt !== undefined &&
      isTimely(repliedAt, sentAt) &&
      parseEnvelope(status, new TextDecoder().decode(bytes)) !== undefined
    );
  }

  return {
    hasNonce: false,
    async sign(request) {
      const timestamp = unusedTimestamp(request.timestamp);
      const signedText = version1Text(request);
      return {
        headers: {
          'X-Client-Id': clientId,
          'X-Timestamp': String(timestamp),
          'X-Sign': await digest(signedText, String(timestamp)),
        },
        signedText,
        isVerified: (reply) => isVerified(reply, timestamp),
      };
    },
  };
}

/** What version 1 signs of a request, with the timestamp. @throws AmbiguousTextError */
export function version1Text(
  request: Pick<SignableRequest, 'query' | 'method' | 'contentType' | 'body'>,
): string | Uint8Array {
  const { query, method, contentType, body } = request;
  switch (signedPart(method, contentType)) {
    case 'query':
      return canonicalText(parseParameters(query));
    case 'form': {
      const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
      return canonicalText(parseParameters(text));
    }
    default:
      return body;
  }
}

/** An HMAC over all parts of a request. The reply contains the nonce of its request. */
export function createVersion2Signer(
  { clientId, secureKey }: { readonly clientId: string; readonly secureKey: string },
  digests: Digests,
): Signer {
  const hmac = digests.hmacWith(secureKey);
  return {
    hasNonce: true,
    async sign({ timestamp: sentAt, ...request }) {
      const { body, nonce } = request;
      const timestamp = String(sentAt);
      const hash = await digests.digest('SHA-256', [body]);
      const signedText = requestLines({ ...request, clientId, timestamp }, () => hash);
      return {
        headers: {
          'X-Client-Id': clientId,
          'X-Timestamp': timestamp,
          'X-Nonce': nonce,
          'X-Sign-V2': await hmac(signedText),
        },
        signedText,
        async isVerified({ status, headers, bytes }) {
          const signature = headers.get('x-sign-v2') ?? '';
          const replyHash = await digests.digest('SHA-256', [bytes]);
          const repliedAt = headers.get('x-timestamp') ?? '';
          const reply = { status, nonce, body: bytes, timestamp: repliedAt };
          const expected = await hmac(replyLines(reply, () => replyHash));
          return findMatchingKey(signature, [secureKey], () => expected) !== undefined;
        },
      };
    },
  };
}
