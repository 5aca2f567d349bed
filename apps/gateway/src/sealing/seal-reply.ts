import { sign } from '@gatehouse/request-signature';
import type { Signer } from '../authentication/authenticator.ts';
import { nodeDigest } from '../authentication/node-digest.ts';
import type { Reply } from '../pipeline/reply.ts';
import { collectBody } from './collect-body.ts';

export const SIGNED_REPLY_LIMIT_BYTES: number = 8 * 1024 * 1024;

export type SealReply = (reply: Reply, signer: Signer) => Promise<Reply>;

/**
 * Signs the reply to a verified signed request over its exact bytes. Nobody else gets a signature: an
 * unverified caller must not obtain a digest that contains the secret (CWE-301). A reply without a body is
 * not signed, or it could be reflected as a request that signs an empty text.
 *
 * The function throws ApiError `bad_gateway` when the body is larger than the cap or breaks off.
 *
 * @param dependencies.claim takes the signature as used, so that the reply is never a request (strict profile)
 */
export function createReplySealer(dependencies: {
  readonly now: () => number;
  readonly limitBytes: number;
  readonly claim:
    | ((signature: string, timestamp: number, signer: Signer) => Promise<void>)
    | undefined;
}): SealReply {
  const { now, limitBytes, claim } = dependencies;
  return async (reply, signer) => {
    if (reply.body === undefined) {
      return reply;
    }
    const body = Buffer.isBuffer(reply.body)
      ? reply.body
      : (reply.body.arrived() ?? (await collectBody(reply.body, limitBytes)));
    if (body.length === 0) {
      return { ...reply, body };
    }
    const signedAt = now();
    const timestamp = String(signedAt);
    const input = { algorithm: signer.algorithm, signedText: body, timestamp };
    const signature = sign(input, signer.secureKey, nodeDigest);
    await claim?.(signature, signedAt, signer);
    return {
      ...reply,
      headers: [...reply.headers, 'X-Timestamp', timestamp, 'X-Sign', signature],
      body,
    };
  };
}
