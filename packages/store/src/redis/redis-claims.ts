import { createTurnBatch } from '../end-of-turn.ts';
import type { WriteOptions } from '../store.ts';
import type { ConfirmedWrites } from './confirmed-writes.ts';
import {
  type ExpiryWords,
  optionalText,
  optionalTexts,
  sendScript,
  sendSet,
  unexpectedReply,
} from './redis-scripts.ts';

interface Claim {
  readonly key: string;
  readonly owner: string;
  readonly expiry: ExpiryWords;
}

/**
 * Sends the claims of one event-loop turn in one command. Each claim is still one atomic operation.
 * If the command fails, all of its claims fail. A gateway claims the signatures of each signed
 * request and its reply, and a command for each claim takes more of its processor time
 * (bench/gateway).
 *
 * @param isCluster a command cannot have keys of several slots, so each claim is a command
 */
export function createRedisClaims(writes: ConfirmedWrites, isCluster: boolean) {
  let isSeparate = isCluster;

  function send({ key, owner, expiry }: Claim, options: WriteOptions = {}) {
    const words = [owner, ...expiry, 'NX', 'GET'] as const;
    return writes.send('claim', key, async (client) =>
      optionalText(await sendSet(client, key, words, options)),
    );
  }

  const batch = createTurnBatch(async (claims: readonly Claim[]) => {
    if (claims.length > 1) {
      try {
        return await sendTogether(writes, claims);
      } catch (error) {
        if (!isCrossSlot(error)) {
          throw error;
        }
        // A redis:// URL can name a server of a cluster, or a proxy of one, which rejects the command
        // as a whole. The claims of each further turn are separate commands.
        isSeparate = true;
      }
    }
    return Promise.all(claims.map((claim) => send(claim)));
  });

  return {
    /** Returns the holder before this claim, or undefined if this claim won. */
    add: (claim: Claim, options: WriteOptions) =>
      isSeparate || options.revokes === true ? send(claim, options) : batch.add(claim),
    /** Sends the claims of this turn now. */
    flush: batch.flush,
  };
}

function sendTogether(writes: ConfirmedWrites, claims: readonly Claim[]) {
  const keys = claims.map(({ key }) => key);
  const words = claims.flatMap(({ owner, expiry }) => [owner, expiry[1] ?? '']);
  return writes.send('claim', keys[0] ?? '', async (client) => {
    const holders = optionalTexts(await sendScript(client, 'claimAll', keys, words));
    if (holders.length !== keys.length) {
      throw unexpectedReply();
    }
    return holders;
  });
}

/** Whether Redis rejected a command because its keys have several slots. */
function isCrossSlot(error: unknown): boolean {
  const { cause } = Object(error) as { cause?: unknown };
  return cause instanceof Error && cause.message.startsWith('CROSSSLOT ');
}
