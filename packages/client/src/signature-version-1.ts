import {
  AmbiguousTextError,
  canonicalText,
  digestedParts,
  findSigningKey,
  isTimely,
  parseParameters,
  parseTimestamp,
  type SignatureAlgorithm,
  signedPart,
} from '@gatehouse/signing/core';
import type { Digests } from './digests.ts';
import { parseEnvelope } from './envelope.ts';
import { GatehouseError } from './gatehouse-error.ts';
import type { ReceivedReply, RequestToSign, SignatureVersion } from './signature-version.ts';

const MAXIMUM_LEAD_MILLISECONDS = 1000;

/** A digest of the query or the body, the time and the secure key. */
export function createSignatureVersion1(
  {
    clientId,
    secureKey,
    algorithm,
  }: {
    readonly clientId: string;
    readonly secureKey: string;
    readonly algorithm: SignatureAlgorithm;
  },
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
