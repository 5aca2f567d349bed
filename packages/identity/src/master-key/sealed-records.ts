import type { Store } from '@gatehouse/store';
import { z } from 'zod';
import { clientKey } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import { secureKeyContext } from '../clients/key-opener.ts';
import { parseRecord } from '../records/parse-record.ts';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import { sessionUidKey, userSessionsKey } from '../secrets/credential-keys.ts';
import type { Sealer } from '../secrets/seal.ts';
import { signingKeyRecord } from '../signing-keys/signing-keys.ts';
import type { UserRegistry } from '../users/user.ts';
import { CANARY_KEY } from './master-key-check.ts';

/** A record with encrypted text, as rotation sees it. */
export interface SealedRecord {
  readonly key: string;
  readonly kind: 'canary' | 'signing key' | 'client' | 'session';
  /** The record with every encrypted text replaced. */
  map(text: string, replace: (sealed: string, context: string) => string): string;
}

/** Members of later versions are kept. */
const sealedClient = z.looseObject({
  sealedSecureKeys: z.array(z.string()),
  /** Earlier versions kept removed secure keys. */
  removedKeys: z.unknown().optional(),
});

const sealedSession = z.object({ uid: z.string() });

/**
 * Every record in the store that is encrypted with the master key, found through the indexes. Not
 * included are records that expire within `LONGEST_UNLISTED_SECONDS`: device codes, pushed requests
 * and the state in cookies.
 */
export async function* sealedRecords(dependencies: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly credentialHash: CredentialHash;
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
}): AsyncGenerator<SealedRecord> {
  const { store, sealer, credentialHash, clients, users } = dependencies;
  yield whole(CANARY_KEY, 'canary');
  yield whole(signingKeyRecord('authorization-server', 'RS256'), 'signing key');
  yield whole(signingKeyRecord('gateway', 'EdDSA'), 'signing key');
  for (const client of await clients.list()) {
    yield { key: clientKey(client.clientId), kind: 'client', map: mapClient(client.clientId) };
  }
  for (const { userId } of await users.list()) {
    for (const key of await store.members(userSessionsKey(userId))) {
      const session = parseRecord(sealedSession, open(sealer, await store.get(key), key));
      if (session !== undefined) {
        yield whole(sessionUidKey(credentialHash(session.uid)), 'session');
      }
      yield whole(key, 'session');
    }
  }
}

/** A signed-in user has an hour to answer a page. All other unlisted records expire earlier. */
export const LONGEST_UNLISTED_SECONDS: number = 60 * 60;

function whole(key: string, kind: SealedRecord['kind']): SealedRecord {
  return { key, kind, map: (text, replace) => replace(text, key) };
}

function mapClient(clientId: string): SealedRecord['map'] {
  return (text, replace) => {
    const parsed = parseRecord(sealedClient, text);
    if (parsed === undefined) {
      return text;
    }
    const { removedKeys: _removed, ...client } = parsed;
    return JSON.stringify({
      ...client,
      sealedSecureKeys: client.sealedSecureKeys.map((key) =>
        replace(key, secureKeyContext({ clientId })),
      ),
    });
  };
}

function open(sealer: Sealer, sealed: string | undefined, key: string): string {
  try {
    return sealed === undefined ? '' : sealer.open(sealed, key);
  } catch {
    return '';
  }
}
