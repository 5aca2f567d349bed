import type { OnDamagedRecord } from '../records/damaged-record.ts';
import type { Sealer } from '../secrets/seal.ts';
import { type Client, clientKey } from './client.ts';

/** Lists in the same order. Keys that cannot be decrypted are omitted. */
export interface OpenedKeys {
  readonly sealed: readonly string[];
  readonly secureKeys: readonly string[];
  readonly ids: readonly string[];
}

/** Decrypts the keys of a record once. An unchanged record is the same object. */
export function createKeyOpener(
  sealer: Sealer,
  idOf: (secureKey: string) => string,
  onDamagedRecord: OnDamagedRecord | undefined,
) {
  const opened = new WeakMap<Client, OpenedKeys>();
  return (client: Client): OpenedKeys => {
    let keys = opened.get(client);
    if (keys === undefined) {
      const context = secureKeyContext(client);
      const found = client.sealedSecureKeys.flatMap((sealed) => {
        try {
          return [{ sealed, secureKey: sealer.open(sealed, context) }];
        } catch {
          onDamagedRecord?.(
            'secure key',
            clientKey(client.clientId),
            `Generate a new key: gatehouse clients rotate-key ${client.clientId}`,
          );
          return [];
        }
      });
      const secureKeys = found.map(({ secureKey }) => secureKey);
      keys = { sealed: found.map(({ sealed }) => sealed), secureKeys, ids: secureKeys.map(idOf) };
      opened.set(client, keys);
    }
    return keys;
  };
}

export const secureKeyContext = ({ clientId }: Pick<Client, 'clientId'>): string =>
  `client:${clientId}:secureKey`;
