/**
 * What the authorization server, the gateway and the command line all speak, written once over the Store:
 * who exists (organisations, clients, users), what a credential means (access tokens, replay guard), and
 * how secrets rest (master key → pepper, seal, signing keys). Bootstrap fills it from a file.
 * Not here: issuing tokens (the authorization server) and anything that knows HTTP.
 */
import type { Store } from '@gatehouse/store';
import { type AccessTokenVerifier, createAccessTokenVerifier } from './access-tokens.ts';
import { type ClientRegistry, createClientRegistry } from './clients.ts';
import { type CredentialHash, createCredentialHash } from './credential-hash.ts';
import type { MasterKey } from './master-key.ts';
import { createOrganizationRegistry, type OrganizationRegistry } from './organizations.ts';
import { createReplayGuard, type ReplayGuard } from './replay-guard.ts';
import { createSealer, type Sealer } from './seal.ts';
import { createUserRegistry, type UserRegistry } from './users.ts';

export interface Identity {
  readonly store: Store;
  readonly organizations: OrganizationRegistry;
  readonly clients: ClientRegistry;
  readonly users: UserRegistry;
  readonly verifyAccessToken: AccessTokenVerifier;
  readonly replayGuard: ReplayGuard;
  readonly credentialHash: CredentialHash;
  readonly sealer: Sealer;
}

export function openIdentity(dependencies: {
  readonly store: Store;
  readonly masterKey: MasterKey;
  /** Epoch milliseconds. */
  readonly now?: () => number;
}): Identity {
  const { store, masterKey, now = Date.now } = dependencies;
  const credentialHash = createCredentialHash(masterKey);
  const sealer = createSealer(masterKey);
  const clients = createClientRegistry({ store, sealer, now });
  const users = createUserRegistry({ store, now });
  return {
    store,
    organizations: createOrganizationRegistry(store),
    clients,
    users,
    verifyAccessToken: createAccessTokenVerifier({ store, credentialHash, clients, users, now }),
    replayGuard: createReplayGuard({ store, now }),
    credentialHash,
    sealer,
  };
}
