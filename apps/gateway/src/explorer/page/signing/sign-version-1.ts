import {
  canonicalText,
  digestedParts,
  findSigningKey,
  isTimely,
  parseParameters,
  parseTimestamp,
  signedPart,
} from '@gatehouse/signing/core';
import type { ApiRequest, ReceivedReply } from '../api-request.ts';
import type { SecureKeyCredential } from '../credential.ts';
import { parseEnvelope } from '../reply-envelope.ts';
import { concatenate, sha256 } from '../web-digests.ts';
import {
  NOT_SIGNED,
  type SignedRequest,
  type Verification,
  WRONG_SIGNATURE,
} from './signed-request.ts';

const algorithm = 'SHA-256';

/** Version 1 with SHA-256. Browsers have no MD5. */
export async function signVersion1(
  request: ApiRequest,
  { clientId, secureKey }: SecureKeyCredential,
  now: number,
): Promise<SignedRequest> {
  const timestamp = String(now);
  const isQuery = signedPart(request.method, request.contentType) === 'query';
  const signedText = version1Text(request);
  const digest = (text: string | Uint8Array<ArrayBuffer>, time: string) =>
    sha256(
      concatenate(
        digestedParts({ algorithm, signedText: text, timestamp: time }, secureKey) as string[],
      ),
    );
  const signature = await digest(signedText, timestamp);

  async function verify({ status, headers, bytes, text }: ReceivedReply): Promise<Verification> {
    const received = headers.get('x-sign');
    const repliedAt = headers.get('x-timestamp');
    if (received === null || repliedAt === null) {
      return NOT_SIGNED;
    }
    const expected = await digest(bytes, repliedAt);
    const input = { algorithm, signedText: bytes, timestamp: repliedAt } as const;
    const time = parseTimestamp(repliedAt);
    const isVerified =
      findSigningKey(input, received, [secureKey], () => expected) !== undefined &&
      time !== undefined &&
      isTimely(time, now) &&
      parseEnvelope(status, text) !== undefined;
    return isVerified
      ? {
          isVerified,
          explanation:
            'A holder of the secure key signed this body. Version 1 does not prove that it belongs to this request.',
        }
      : WRONG_SIGNATURE;
  }

  return {
    headers: { 'X-Client-Id': clientId, 'X-Timestamp': timestamp, 'X-Sign': signature },
    lines: [
      { name: isQuery ? 'Sorted parameters' : 'Body', value: signedText },
      { name: 'X-Timestamp', value: timestamp },
      { name: 'Secure key', value: '(not shown)' },
    ],
    method: 'SHA-256 of these parts, joined without a separator',
    signature,
    verify,
  };
}

/** The parameters or the body. The forms of the page never send the parameters of a form. */
export function version1Text({ method, contentType, query, body = '' }: ApiRequest): string {
  return signedPart(method, contentType) === 'query' ? canonicalText(parseParameters(query)) : body;
}
