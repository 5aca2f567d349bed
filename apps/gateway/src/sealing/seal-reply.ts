import { sign } from '@gatehouse/request-signature';
import type { Signer } from '../authentication/authenticator.ts';
import { nodeDigest } from '../authentication/node-digest.ts';
import type { Reply } from '../pipeline/reply.ts';
import { collectBody } from './collect-body.ts';

export const SIGNED_REPLY_LIMIT_BYTES: number = 8 * 1024 * 1024;

/**
 * Signs the reply to a verified signed request over its exact bytes. Nobody else gets a signature: an
 * unverified caller must not obtain a digest that contains the secret (CWE-301). A reply without a body is
 * not signed, or it could be reflected as a request that signs an empty text.
 *
 * @throws ApiError `bad_gateway` when the body is larger than the cap or breaks off
 */
export async function sealReply(
  reply: Reply,
  signer: Signer | undefined,
  dependencies: { readonly now: () => number; readonly limitBytes: number },
): Promise<Reply> {
  if (signer === undefined || reply.body === undefined) {
    return reply;
  }
  const body = Buffer.isBuffer(reply.body)
    ? reply.body
    : await collectBody(reply.body, dependencies.limitBytes);
  if (body.length === 0) {
    return { ...reply, body };
  }
  const timestamp = String(dependencies.now());
  const input = { algorithm: signer.algorithm, signedText: body, timestamp };
  const signature = sign(input, signer.secureKey, nodeDigest);
  return {
    ...reply,
    headers: [...reply.headers, 'X-Timestamp', timestamp, 'X-Sign', signature],
    body,
  };
}
