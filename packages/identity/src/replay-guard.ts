import { hash, randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';

/** One use of a verified request signature, or of the signature of a reply. */
export interface SignatureUse {
  readonly clientId: string;
  /** Hexadecimal, any case. Version 1 does not cover the client, so it is used up for every client. */
  readonly signature: string;
  /** Version 2: used up in the signature's place, so that no two requests of a client have the same. */
  readonly nonce?: string | undefined;
  readonly method: string;
  /** Path and query as they are forwarded. */
  readonly target: string;
  /** A query-signed request may come again, unchanged; a body-signed one may not. */
  readonly repeatable: boolean;
  /** Epoch milliseconds until which the timestamp would be accepted. */
  readonly liveUntil: number;
}

export interface ReplayGuard {
  /** The first use binds the signature to what it was used for. A store that is away throws. */
  bind(use: SignatureUse): Promise<'accepted' | 'replayed'>;
}

/**
 * The binding must not end before the timestamp does, on any gateway: their clocks may each be 30 s off,
 * in opposite directions (RD-17).
 */
const MARGIN_SECONDS = 60;

export function createReplayGuard(dependencies: {
  readonly store: Store;
  readonly now: () => number;
}): ReplayGuard {
  const { store, now } = dependencies;
  return {
    async bind(use) {
      // A plain hash will do: who reads the store must not learn signatures, and nobody can guess one.
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
