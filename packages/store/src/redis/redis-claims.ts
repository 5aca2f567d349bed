import type { WriteOptions } from '../store.ts';
import type { ConfirmedWrites } from './confirmed-writes.ts';
import { atEndOfTurn } from './redis-deadline.ts';
import {
  type ExpiryWords,
  optionalText,
  optionalTexts,
  sendScript,
  sendSet,
  unexpectedReply,
} from './redis-scripts.ts';

export interface Claim {
  readonly key: string;
  readonly owner: string;
  readonly expiry: ExpiryWords;
}

/** For each claim the holder before it, or undefined if there was none. */
type FormerHolders = readonly (string | undefined)[];

interface Batch {
  readonly claims: Claim[];
  readonly holders: Promise<FormerHolders>;
  readonly resolve: (holders: Promise<FormerHolders>) => void;
}

/**
 * Sends the claims of one event-loop turn in one command. Each claim is still one atomic operation.
 * If the command fails, all of its claims fail. A gateway claims the signatures of each signed
 * request and its reply, and a command for each claim takes more of its processor time
 * (bench/gateway).
 */
export class RedisClaims {
  readonly #writes: ConfirmedWrites;
  #isCluster: boolean;
  #batch: Batch | undefined;

  /** @param isCluster a command cannot have keys of several slots, so each claim is a command */
  constructor(writes: ConfirmedWrites, isCluster: boolean) {
    this.#writes = writes;
    this.#isCluster = isCluster;
  }

  /** Returns the holder before this claim, or undefined if this claim won. */
  add(claim: Claim, options: WriteOptions): Promise<string | undefined> {
    if (this.#isCluster || options.revokes === true) {
      return this.#send(claim, options);
    }
    this.#batch ??= this.#startBatch();
    const { claims, holders } = this.#batch;
    const index = claims.push(claim) - 1;
    return holders.then((all) => all[index]);
  }

  /** Sends the claims of this turn now. */
  flush(): void {
    if (this.#batch !== undefined) {
      const { claims, resolve } = this.#batch;
      this.#batch = undefined;
      resolve(this.#sendAll(claims));
    }
  }

  #startBatch(): Batch {
    atEndOfTurn(() => this.flush());
    const { promise, resolve } = Promise.withResolvers<FormerHolders>();
    return { claims: [], holders: promise, resolve };
  }

  #send({ key, owner, expiry }: Claim, options: WriteOptions): Promise<string | undefined> {
    const words = [owner, ...expiry, 'NX', 'GET'] as const;
    return this.#writes.send('claim', key, async (client) =>
      optionalText(await sendSet(client, key, words, options)),
    );
  }

  async #sendAll(claims: readonly Claim[]): Promise<FormerHolders> {
    const [first] = claims;
    if (first === undefined) {
      return [];
    }
    if (claims.length === 1) {
      return [await this.#send(first, {})];
    }
    try {
      return await this.#sendTogether(first.key, claims);
    } catch (error) {
      if (!isCrossSlot(error)) {
        throw error;
      }
      // A redis:// URL can name a server of a cluster, or a proxy of one, which rejects the command
      // as a whole. The claims of each further turn are separate commands.
      this.#isCluster = true;
      return Promise.all(claims.map((claim) => this.#send(claim, {})));
    }
  }

  #sendTogether(someKey: string, claims: readonly Claim[]): Promise<FormerHolders> {
    const keys = claims.map(({ key }) => key);
    const words = claims.flatMap(({ owner, expiry }) => [owner, expiry[1] ?? '']);
    return this.#writes.send('claim', someKey, async (client) => {
      const holders = optionalTexts(await sendScript(client, 'claimAll', keys, words));
      if (holders.length !== keys.length) {
        throw unexpectedReply();
      }
      return holders;
    });
  }
}

/** Whether Redis rejected a command because its keys have several slots. */
function isCrossSlot(error: unknown): boolean {
  const { cause } = Object(error) as { cause?: unknown };
  return cause instanceof Error && cause.message.startsWith('CROSSSLOT ');
}
