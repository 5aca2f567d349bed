import { hash, randomUUID } from 'node:crypto';
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
  /** Group of the caller's address. Without it, the signature serves a single target. */
  readonly addressGroup?: string | undefined;
  /** Epoch milliseconds. The timestamp is accepted until then. */
  readonly liveUntil: number;
}

/**
 * The binding must outlive the timestamp on every gateway. Two clocks can each be wrong by 30 s in
 * opposite directions.
 */
const MARGIN_SECONDS = 60;

/**
 * Parallel requests of one millisecond have equal signatures if version 1 signs no parameters, so
 * the signature must serve all of their targets (decision 21).
 */
const SHARED_MILLISECONDS = 1000;
const SHARED_METHODS = ['GET', 'HEAD'];

export type ReplayGuard = ReturnType<typeof createReplayGuard>;

export function createReplayGuard(store: Store, now: () => number) {
  return {
    /** The longest lifetime of a binding, for a timestamp that is as late as the tolerance allows. */
    longestBindingSeconds: (toleranceMilliseconds: number): number =>
      Math.ceil((2 * toleranceMilliseconds) / 1000) + MARGIN_SECONDS,
    /**
     * Whether a request or a signed reply has used the signature, or the client has used the nonce.
     *
     * @throws StoreUnavailableError
     */
    async isUsed(use: UsedOnce): Promise<boolean> {
      const identities = new Set([identityOf({ ...use, nonce: undefined }), identityOf(use)]);
      const holders = await Promise.all([...identities].map((each) => store.get(keyOf(each))));
      return holders.some((holder) => holder !== undefined);
    },
    /**
     * The first use binds the signature to its method and target. A repeatable GET or HEAD may serve
     * further targets of its client, each once, from the address group of the first use and within
     * one second of it.
     *
     * @throws StoreUnavailableError
     */
    async bind(use: SignatureUse): Promise<'accepted' | 'replayed'> {
      const usedAt = now();
      const secondsToLive =
        Math.max(0, Math.ceil((use.liveUntil - usedAt) / 1000)) + MARGIN_SECONDS;
      const claim = (key: string, owner: string) => store.claim(key, owner, secondsToLive);
      const key = keyOf(identityOf(use));
      if (!use.repeatable) {
        const owner = randomUUID();
        return (await claim(key, owner)) === owner ? 'accepted' : 'replayed';
      }
      const binding = bindingOf(use.method, use.target);
      const group = sharedGroupOf(use);
      // A binding that may be shared ends with `.group.usedAt`.
      const owner = group === undefined ? binding : `${binding}.${group}.${usedAt}`;
      const holder = await claim(key, owner);
      if (holder === owner || holder.split('.', 1)[0] === binding) {
        return 'accepted';
      }
      if (group === undefined || !isShared(use, group, usedAt, holder)) {
        return 'replayed';
      }
      const further = randomUUID();
      const target = `${key}:${digest(use.target)}`;
      return (await claim(target, further)) === further ? 'accepted' : 'replayed';
    },
  };
}

type UsedOnce = Pick<SignatureUse, 'clientId' | 'signature' | 'nonce'>;

function identityOf({ clientId, signature, nonce }: UsedOnce): string {
  return nonce === undefined ? signature.toLowerCase() : `${clientId}\n${nonce}`;
}

function keyOf(identity: string): string {
  return `replay:${digest(identity)}`;
}

/** Whether a further target is in time, and is not the first target with another method. */
function isShared(use: SignatureUse, group: string, usedAt: number, holder: string): boolean {
  const [binding, firstGroup, firstUsedAt] = holder.split('.');
  return (
    group === firstGroup &&
    Math.abs(usedAt - Number(firstUsedAt)) <= SHARED_MILLISECONDS &&
    !SHARED_METHODS.some((method) => binding === bindingOf(method, use.target))
  );
}

function bindingOf(method: string, target: string): string {
  return digest(`${method}\n${target}`);
}

/**
 * Undefined if the signature serves no further target. The signature salts the group: without it,
 * a reader of the store could find the address by trying all addresses.
 */
function sharedGroupOf(use: SignatureUse): string | undefined {
  const { method, addressGroup, signature, clientId } = use;
  return addressGroup !== undefined && SHARED_METHODS.includes(method)
    ? digest([signature.toLowerCase(), clientId, addressGroup].join('\n'))
    : undefined;
}

/** Hides signatures from readers of the store. They cannot be guessed, so no key is needed. */
function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
