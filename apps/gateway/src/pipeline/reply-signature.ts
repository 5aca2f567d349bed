import { ApiError } from '@gatehouse/errors';
import type { ReplayGuard } from '@gatehouse/identity';
import { isSuccessReply } from '@gatehouse/signing';
import type { Signer } from '../authentication/verified-request.ts';
import type { Reply, StreamedBody } from '../messages.ts';

const LIMIT_BYTES = 8 * 1024 * 1024;
const NO_BYTES = Buffer.alloc(0);

export type SignReply = (reply: Reply, signer: Signer) => Promise<Reply>;

/** Whether the signature of a reply may have to be marked as used. That of version 2 need not be. */
export function isClaimed({ header }: Signer): boolean {
  return header === 'X-Sign';
}

/**
 * Signs the exact bytes of the reply to a verified signed request. An unverified caller must not
 * get a digest that contains the secure key (CWE-301).
 *
 * Version 1 signs replies like request bodies. No request may begin like a successful reply of the
 * platform API. Any other unclaimed reply would be a valid request, so the gateway marks its
 * signature as used before the reply leaves. A signature of version 2 is never a request.
 *
 * The function rejects with ApiError `bad_gateway` if the body exceeds the limit or ends early, and
 * with StoreUnavailableError if it cannot claim the signature.
 */
export function createReplySigner(dependencies: {
  readonly replayGuard: ReplayGuard;
  readonly now: () => number;
  readonly signatureToleranceMilliseconds: number;
}): SignReply {
  const { replayGuard, now, signatureToleranceMilliseconds } = dependencies;
  return async (reply, signer) => {
    const body = reply.body && (await wholeBody(reply.body));
    const signedAt = now();
    const timestamp = String(signedAt);
    const signature = signer.sign({ status: reply.status, body: body ?? NO_BYTES, timestamp });
    if (signature === undefined) {
      return { ...reply, body };
    }
    if (isClaimed(signer) && !isSuccessReply(body ?? NO_BYTES)) {
      // The result does not matter: equal replies of one millisecond share a signature.
      await replayGuard.bind({
        clientId: signer.clientId,
        signature,
        method: 'reply',
        target: '',
        repeatable: false,
        liveUntil: signedAt + signatureToleranceMilliseconds,
      });
    }
    reply.headers.push('X-Timestamp', timestamp, signer.header, signature);
    return { ...reply, body };
  };
}

function wholeBody(body: Buffer | StreamedBody): Buffer | Promise<Buffer> {
  return Buffer.isBuffer(body) ? body : (body.arrived() ?? collect(body));
}

function collect(body: StreamedBody): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    body.connect({
      write(chunk) {
        size += chunk.length;
        chunks.push(chunk);
        if (size > LIMIT_BYTES) {
          body.cancel(
            new ApiError('bad_gateway', {
              message: 'The reply is too large to be signed.',
              reason: 'reply_too_large_to_sign',
            }),
          );
        }
        return true;
      },
      end: () => resolve(Buffer.concat(chunks, size)),
      fail: reject,
    });
  });
}
