import { findLinesKey, replyLines, requestLines } from '@gatehouse/signing/core';
import type { ApiRequest } from '../api-request.ts';
import type { SecureKeyCredential } from '../credential.ts';
import { hmacSha256, sha256 } from '../web-digests.ts';
import { NOT_SIGNED, type SignedRequest, WRONG_SIGNATURE } from './signed-request.ts';

const names = [
  'Version',
  'Method',
  'Path',
  'Query',
  'Content type',
  'SHA-256 of the body',
  'Client id',
  'X-Timestamp',
  'X-Nonce',
];

export async function signVersion2(
  request: ApiRequest,
  { clientId, secureKey }: SecureKeyCredential,
  now: number,
): Promise<SignedRequest> {
  const nonce = crypto.randomUUID();
  const timestamp = String(now);
  const body = request.body ?? '';
  const hash = await sha256(body);
  const lines = requestLines({ ...request, body, clientId, timestamp, nonce }, () => hash);
  const signature = await hmacSha256(secureKey, lines);
  return {
    headers: {
      'X-Client-Id': clientId,
      'X-Timestamp': timestamp,
      'X-Nonce': nonce,
      'X-Sign-V2': signature,
    },
    lines: lines.split('\n').map((value, index) => ({ name: names[index] ?? '', value })),
    method: 'HMAC-SHA-256 of the nine lines, joined by line feeds, with the secure key',
    signature,
    async verify({ status, headers, bytes }) {
      const received = headers.get('x-sign-v2');
      const repliedAt = headers.get('x-timestamp');
      if (received === null || repliedAt === null) {
        return NOT_SIGNED;
      }
      const replyHash = await sha256(bytes);
      const reply = { status, nonce, body: bytes, timestamp: repliedAt };
      const signed = replyLines(reply, () => replyHash);
      const expected = await hmacSha256(secureKey, signed);
      return findLinesKey(signed, received, [secureKey], () => expected) === undefined
        ? WRONG_SIGNATURE
        : {
            isVerified: true,
            explanation: 'The gateway signed this reply to this request: status, nonce and body.',
          };
    },
  };
}
