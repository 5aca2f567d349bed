import type { Sealer } from '../secrets/seal.ts';
import type { Client, RemovedKey } from './client.ts';

const DAY = 24 * 60 * 60;
const MAXIMUM_REMOVED_KEYS = 2;
const RETENTION_SECONDS: number = 30 * DAY;

export const removedKeyContext = ({ clientId }: Pick<Client, 'clientId'>): string =>
  `client:${clientId}:removedSecureKey`;

/** The keys that a client lost in the last 30 days: encrypted, newest first, at most two. */
export interface RemovedKeys {
  /** Decrypts the keys. A damaged key is omitted: only an explanation is lost. */
  open(client: Client): readonly string[];
  /** The members of the client after it lost these keys. */
  add(client: Client, secureKeys: readonly string[]): Pick<Client, 'removedKeys'>;
}

export function createRemovedKeys({
  sealer,
  now,
}: {
  readonly sealer: Sealer;
  /** Epoch milliseconds. */
  readonly now: () => number;
}): RemovedKeys {
  const opened = new WeakMap<RemovedKey, string | undefined>();
  const isKept = ({ removedAt }: RemovedKey) => now() / 1000 < removedAt + RETENTION_SECONDS;

  function open(client: Client, key: RemovedKey): string | undefined {
    if (!opened.has(key)) {
      opened.set(
        key,
        attempt(() => sealer.open(key.sealed, removedKeyContext(client))),
      );
    }
    return opened.get(key);
  }

  return {
    open: (client) =>
      client.removedKeys
        .filter(isKept)
        .map((key) => open(client, key))
        .filter((key) => key !== undefined),
    add(client, secureKeys) {
      const removedAt = Math.floor(now() / 1000);
      const added = secureKeys.map((key) => ({
        sealed: sealer.seal(key, removedKeyContext(client)),
        removedAt,
      }));
      const kept = client.removedKeys.filter(isKept);
      return { removedKeys: [...added, ...kept].slice(0, MAXIMUM_REMOVED_KEYS) };
    },
  };
}

function attempt(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
