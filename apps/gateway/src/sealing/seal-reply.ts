import type { Signer } from '../authentication/authenticator.ts';
import { sent } from '../http/header-names.ts';
import type { Reply } from '../http/reply.ts';
import type { StreamedBody } from '../http/streamed-body.ts';
import { collectBody } from './collect-body.ts';

export const SIGNED_REPLY_LIMIT_BYTES: number = 8 * 1024 * 1024;

const NO_BYTES = Buffer.alloc(0);

export type SealReply = (reply: Reply, signer: Signer) => Promise<Reply>;

/** Whether the signature of a reply is marked as used. A signature of version 2 need not be. */
export function isClaimed({ header }: Signer): boolean {
  return header === sent.signature1;
}

/**
 * Signs the exact bytes of the reply to a verified signed request. An unverified caller must not
 * get a digest that contains the secure key (CWE-301).
 *
 * The function rejects with ApiError `bad_gateway` if the body exceeds the limit or ends early, and
 * with StoreUnavailableError if it cannot claim the signature.
 *
 * @param dependencies.claim marks an `X-Sign` as used before the reply leaves. Version 1 signs
 *   replies like request bodies, so an unclaimed reply would be a valid request. A signature of
 *   version 2 never is.
 */
export function createReplySealer(dependencies: {
  readonly now: () => number;
  readonly limitBytes: number;
  readonly claim: (signature: string, timestamp: number, signer: Signer) => Promise<unknown>;
}): SealReply {
  const { now, limitBytes, claim } = dependencies;
  return async (reply, signer) => {
    const body = reply.body && (await wholeBody(reply.body, limitBytes));
    const signedAt = now();
    const timestamp = String(signedAt);
    const signature = signer.sign({ status: reply.status, body: body ?? NO_BYTES, timestamp });
    if (signature === undefined) {
      return { ...reply, body };
    }
    if (isClaimed(signer)) {
      await claim(signature, signedAt, signer);
    }
    reply.headers.push(sent.timestamp, timestamp, signer.header, signature);
    return { ...reply, body };
  };
}

function wholeBody(body: Buffer | StreamedBody, limitBytes: number): Buffer | Promise<Buffer> {
  return Buffer.isBuffer(body) ? body : (body.arrived() ?? collectBody(body, limitBytes));
}
