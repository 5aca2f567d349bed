/**
 * The public keys of clients that declare the address of a JWK Set. Each process keeps a copy. The
 * library would use a copy until an assertion fails, so a key that the client removed because it
 * leaked would stay valid.
 */
import { type Identity, type PublicKey, publicKey } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { errors } from 'oidc-provider';
import type { GuardedFetch, GuardedRequest } from '../guarded-fetch.ts';

const MINUTE = 60_000;
/** The age at which the copy is read again. A removed key is rejected after this time. */
const FRESH_MILLISECONDS = 5 * MINUTE;
/** The copy is read again for a key that it does not have, but not more often. */
const UNKNOWN_KEY_MILLISECONDS = MINUTE / 2;
/** An address that failed is not tried again at once. */
const RETRY_MILLISECONDS = 10_000;
/** How long the last copy is used while the address fails. */
const LONGEST_MILLISECONDS = 60 * MINUTE;
const MAXIMUM_CLIENTS = 1000;
const MAXIMUM_KEYS = 20;

/** Fetches what a registered client declares. Operators list the hosts with private addresses. */
export function createFetchDeclared({ settings }: Identity, guardedFetch: GuardedFetch) {
  return async (address: string, request?: GuardedRequest): Promise<Response> => {
    const { privateHosts } = await settings.read();
    return guardedFetch(address, { ...request, privateHosts });
  };
}

interface Copy {
  readonly keys: readonly PublicKey[];
  readonly readAt: number;
  readonly triedAt: number;
  readonly failure?: string;
}

export type ClientKeySets = ReturnType<typeof createClientKeySets>;

export function createClientKeySets(fetchDeclared: GuardedFetch, now: () => number = Date.now) {
  async function read(address: string, last: Copy | undefined): Promise<Copy> {
    const triedAt = now();
    try {
      const keys = await fetchKeys(address, fetchDeclared);
      return { keys, readAt: triedAt, triedAt };
    } catch (error) {
      // The settings name the private hosts. Without them, the address was not tried.
      if (error instanceof StoreUnavailableError) {
        throw error;
      }
      const failure = error instanceof Error ? error.message : String(error);
      return { keys: [], readAt: Number.NEGATIVE_INFINITY, ...last, triedAt, failure };
    }
  }

  // Concurrent callers share a read.
  const copies = new LRUCache<string, Copy>({
    max: MAXIMUM_CLIENTS,
    fetchMethod: read,
    noDeleteOnFetchRejection: true,
  });

  /**
   * @param kid of the assertion
   * @throws InvalidClientAuth if the keys cannot be read, or could not for an hour
   * @throws StoreUnavailableError
   */
  return async (address: string, kid: unknown): Promise<readonly PublicKey[]> => {
    const last = copies.get(address, { allowStale: true });
    const age = last === undefined ? Infinity : now() - last.readAt;
    const isKnown = kid === undefined || last?.keys.some((key) => key.kid === kid) === true;
    const isDue = age >= FRESH_MILLISECONDS || (!isKnown && age >= UNKNOWN_KEY_MILLISECONDS);
    const mayTry = (last?.triedAt ?? 0) + RETRY_MILLISECONDS <= now();
    const forceRefresh = isDue && mayTry;
    const copy = forceRefresh || !last ? await copies.fetch(address, { forceRefresh }) : last;
    if (copy === undefined || now() - copy.readAt > LONGEST_MILLISECONDS) {
      throw new errors.InvalidClientAuth(`the keys at jwksUri were not read: ${copy?.failure}`);
    }
    return copy.keys;
  };
}

/** The keys that can verify assertions. It skips others, such as those for encryption. */
async function fetchKeys(
  address: string,
  fetchDeclared: GuardedFetch,
): Promise<readonly PublicKey[]> {
  const reply = await fetchDeclared(address, { headers: { accept: 'application/json' } });
  if (reply.status !== 200) {
    throw new Error(`the status is ${reply.status}`);
  }
  const { keys }: { readonly keys?: unknown } = Object(await reply.json().catch(() => undefined));
  if (!Array.isArray(keys)) {
    throw new Error('the reply is no JWK Set');
  }
  const parsed = keys.map((key) => publicKey.safeParse(key).data);
  return parsed.filter((key) => key !== undefined).slice(0, MAXIMUM_KEYS);
}
