import { hash, randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';

/** One use of a verified signature of a request or reply. */
export interface SignatureUse {
  readonly clientId: string;
  /**
   * Hexadecimal. Version 1 does not sign the client, so its signatures are used for all clients.
   */
  readonly signature: string;
  /** Version 2 only: claimed instead of the signature. A client can use a nonce once. */
  readonly nonce?: string | undefined;
  readonly method: string;
  /** The forwarded path and query. */
  readonly target: string;
  /** A request with a signed query can be repeated unchanged. One with a signed body cannot. */
  readonly repeatable: boolean;
  /** Epoch milliseconds. The timestamp is accepted until then. */
  readonly liveUntil: number;
}

export interface ReplayGuard {
  /**
   * The first use binds the signature to its method and target.
   *
   * @throws StoreUnavailableError
   */
  bind(use: SignatureUse): Promise<'accepted' | 'replayed'>;
}

/**
 * The binding must outlive the timestamp on every gateway. Two clocks can each be wrong by 30 s in
 * opposite directions (RD-17).
 */
const MARGIN_SECONDS = 60;

export function createReplayGuard(dependencies: {
  readonly store: Store;
  readonly now: () => number;
}): ReplayGuard {
  const { store, now } = dependencies;
  return {
    async bind(use) {
      // A hash hides the signature from readers of the store. Signatures cannot be guessed, so no
      // key is needed.
      const once =
        use.nonce === undefined ? use.signature.toLowerCase() : `${use.clientId}\n${use.nonce}`;
      const used = hash('sha256', once, 'base64url');
      const key = `replay:${used}`;
      const owner = use.repeatable
        ? hash('sha256', `${use.method}\n${use.target}`, 'base64url')
        : randomBytes(16).toString('base64url');
      const secondsToLive = Math.max(0, Math.ceil((use.liveUntil - now()) / 1000));
      const holder = await store.claim(key, owner, secondsToLive + MARGIN_SECONDS);
      return holder === owner ? 'accepted' : 'replayed';
    },
  };
}
