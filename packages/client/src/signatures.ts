import {
  AmbiguousTextError,
  canonicalText,
  digestedParts,
  findLinesKey,
  findSigningKey,
  isTimely,
  parseParameters,
  parseTimestamp,
  replyLines,
  requestLines,
  type SignatureAlgorithm,
  signedPart,
} from '@gatehouse/signing/core';
import type { Digests } from './digests.ts';
import { GatehouseError, parseEnvelope } from './gatehouse-error.ts';

const MAXIMUM_LEAD_MILLISECONDS = 1000;

/** A request as it is signed and sent. */
export type RequestToSign = Omit<Parameters<typeof requestLines>[0], 'clientId' | 'timestamp'> & {
  readonly timestamp: number;
};

export interface ReceivedReply {
  readonly response: Response;
  /** The body as received. */
  readonly bytes: Uint8Array;
}

export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the gateway signed this reply, as the reply to this request. */
  isVerified(reply: ReceivedReply): Promise<boolean>;
}

/** One of the two versions of docs/signing.md. */
export interface SignatureVersion {
  /** Whether a nonce ties each reply to one request, so that nobody can present another reply. */
  readonly hasNonce: boolean;
  sign(request: RequestToSign): Promise<SignedRequest>;
}

interface SigningClient {
  readonly clientId: string;
  readonly secureKey: string;
}

/** An HMAC over all parts of a request. The reply contains the nonce of its request. */
export function createSignatureVersion2(
  { clientId, secureKey }: SigningClient,
  digests: Digests,
): SignatureVersion {
  const hmac = digests.hmacWith(secureKey);
  return {
    hasNonce: true,
    async sign(request) {
      const { body, timestamp, nonce } = request;
      const hash = await digests.digest('SHA-256', [body]);
      const lines = requestLines(
        { ...request, clientId, timestamp: String(timestamp) },
        () => hash,
      );
      return {
        headers: {
          'X-Client-Id': clientId,
          'X-Timestamp': String(timestamp),
          'X-Nonce': nonce,
          'X-Sign-V2': await hmac(lines),
        },
        async isVerified({ response: { status, headers }, bytes }) {
          const signature = headers.get('x-sign-v2');
          const repliedAt = headers.get('x-timestamp');
          if (signature === null || repliedAt === null) {
            return false;
          }
          const replyHash = await digests.digest('SHA-256', [bytes]);
          const reply = { status, nonce, body: bytes, timestamp: repliedAt };
          const signed = replyLines(reply, () => replyHash);
          const expected = await hmac(signed);
          return findLinesKey(signed, signature, [secureKey], () => expected) !== undefined;
        },
      };
    },
  };
}

/** A digest of the query or the body, the time and the secure key. */
export function createSignatureVersion1(
  { clientId, secureKey, algorithm }: SigningClient & { readonly algorithm: SignatureAlgorithm },
  digests: Digests,
): SignatureVersion {
  let latest = 0;
  const digest = (signedText: string | Uint8Array, timestamp: string) =>
    digests.digest(algorithm, digestedParts({ algorithm, signedText, timestamp }, secureKey));

  /** Two equal requests in one millisecond would have the same signature, which is used once. */
  function unusedTimestamp(now: number): number {
    latest = Math.min(Math.max(now, latest + 1), now + MAXIMUM_LEAD_MILLISECONDS);
    return latest;
  }

  /** The signature covers neither the status nor the request, so the body must confirm them. */
  async function isVerified({ response, bytes }: ReceivedReply, sentAt: number): Promise<boolean> {
    const { status, headers } = response;
    const signature = headers.get('x-sign');
    const timestamp = headers.get('x-timestamp');
    if (signature === null || timestamp === null) {
      return false;
    }
    const expected = await digest(bytes, timestamp);
    const input = { algorithm, signedText: bytes, timestamp };
    const repliedAt = parseTimestamp(timestamp);
    return (
      findSigningKey(input, signature, [secureKey], () => expected) !== undefined &&
      repliedAt !== undefined &&
      isTimely(repliedAt, sentAt) &&
      parseEnvelope(status, new TextDecoder().decode(bytes)) !== undefined
    );
  }

  return {
    hasNonce: false,
    async sign(request) {
      const timestamp = unusedTimestamp(request.timestamp);
      return {
        headers: {
          'X-Client-Id': clientId,
          'X-Timestamp': String(timestamp),
          'X-Sign': await digest(signedText(request), String(timestamp)),
        },
        isVerified: (reply) => isVerified(reply, timestamp),
      };
    },
  };
}

function signedText({ query, method, contentType, body }: RequestToSign): string | Uint8Array {
  try {
    switch (signedPart(method, contentType)) {
      case 'query':
        return canonicalText(parseParameters(query));
      case 'form':
        return canonicalText(
          parseParameters(typeof body === 'string' ? body : new TextDecoder().decode(body)),
        );
      default:
        return body;
    }
  } catch (error) {
    if (error instanceof AmbiguousTextError) {
      throw new GatehouseError('ambiguous_request', error.message, {
        hint: 'Use signature version 2, which signs the request as sent.',
        cause: error,
      });
    }
    throw error;
  }
}
