/**
 * Lets a caller repeat a creation whose reply was lost. The first request with an Idempotency-Key
 * claims it. The record has a hash of the request and, when it is finished, the sealed reply, also
 * with the secrets in it.
 *
 *   free ─▶ pending ─▶ done                     the record expires after an hour
 *             │ └────▶ free                     nothing was created: 4xx
 *             └──────▶ pending, unknown         the process or the store failed
 *
 * A request whose outcome is unknown is never made again: a second key or password could be created
 * that nobody has.
 */
import { randomUUID } from 'node:crypto';
import { ApiError, illegalArgument } from '@gatehouse/errors';
import type { Identity, OperatorAccess } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import { z } from 'zod';

/** Programs repeat a request within minutes. A longer time only keeps secrets longer. */
const LIFETIME_SECONDS = 60 * 60;
/** No creation takes longer. */
const LONGEST_MILLISECONDS = 30_000;

const record = z.object({
  id: z.string(),
  request: z.string(),
  /** Epoch milliseconds. */
  startedAt: z.number(),
  reply: z.string().optional(),
});

export function createIdempotency(
  { store, sealer, credentialHash }: Pick<Identity, 'store' | 'sealer' | 'credentialHash'>,
  now: () => number,
) {
  /**
   * @param header of the request
   * @param request what has to be equal when the key is used again
   * @param run creates it. The reply has to be JSON
   * @throws ApiError `conflict`, `idempotency_key_reused`, and what `run` throws
   */
  return async function once<Reply>(
    header: string,
    { clientId, userId }: OperatorAccess,
    request: unknown,
    run: () => Promise<Reply>,
  ): Promise<{ readonly reply: Reply; readonly isRepeated: boolean }> {
    if (!/^[\x21-\x7e]{1,255}$/.test(header)) {
      const message = 'must have 1 to 255 visible characters, such as a UUID';
      throw illegalArgument([{ property: 'Idempotency-Key', message }]);
    }
    const key = `idempotency:${credentialHash(JSON.stringify([clientId, userId, header]))}`;
    const started = {
      id: randomUUID(),
      request: credentialHash(JSON.stringify(request)),
      startedAt: now(),
    };
    const pending = JSON.stringify(started);
    const held = await store.claim(key, pending, LIFETIME_SECONDS);
    if (held !== pending) {
      return { reply: replyOf(held, key, started.request) as Reply, isRepeated: true };
    }
    const reply = await run().catch(async (error: unknown) => {
      if (error instanceof ApiError && error.status < 500) {
        await store.delete([key]).catch(() => undefined);
      }
      throw error;
    });
    const done = { ...started, reply: sealer.seal(JSON.stringify(reply), key) };
    await store.replace(key, pending, JSON.stringify(done)).catch((error: unknown) => {
      // It is created, and the caller gets the reply. Only a repetition does not.
      if (!(error instanceof StoreUnavailableError)) {
        throw error;
      }
    });
    return { reply, isRepeated: false };
  };

  function replyOf(text: string, key: string, request: string): unknown {
    const { reply, startedAt, ...held } = record.parse(JSON.parse(text));
    if (held.request !== request) {
      throw new ApiError('idempotency_key_reused');
    }
    const opened = reply && sealer.tryOpen(reply, key);
    if (opened) {
      return JSON.parse(opened);
    }
    if (reply === undefined && now() - startedAt < LONGEST_MILLISECONDS) {
      throw new ApiError('conflict', {
        message: 'A request with this Idempotency-Key is still running. Repeat it in a second.',
        headers: { 'Retry-After': '1' },
      });
    }
    const at = new Date(startedAt).toISOString();
    throw new ApiError('conflict', {
      message: `A request with this Idempotency-Key began at ${at}, and its reply is not known. Find out in the audit trail whether it took effect, then use another key.`,
    });
  }
}
