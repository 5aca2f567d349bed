import { findLinesKey, replyLines, requestLines } from '@gatehouse/signing/core';
import type { Digests } from './digests.ts';
import type { SignatureVersion } from './signature-version.ts';

/** An HMAC over all parts of a request. The reply contains the nonce of its request. */
export function createSignatureVersion2(
  { clientId, secureKey }: { readonly clientId: string; readonly secureKey: string },
  digests: Digests,
): SignatureVersion {
  const hmac = digests.hmacWith(secureKey);
  return {
    hasNonce: true,
    async sign({ path, query, method, contentType, body, timestamp, nonce }) {
      const hash = await digests.digest('SHA-256', [body]);
      const lines = requestLines(
        {
          method,
          path,
          query,
          contentType,
          body,
          clientId,
          timestamp: String(timestamp),
          nonce,
        },
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
