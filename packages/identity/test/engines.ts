import { randomBytes, randomUUID } from 'node:crypto';
import { createStore, type Store } from '@gatehouse/store';
import { integrationEngines, type StoreEngine, startStoreEngine } from '@gatehouse/testing';
import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import { type Identity, type NewClient, openIdentity } from '../src/index.ts';
import { loadSigningKeys } from '../src/secrets/signing-keys.ts';

export interface EngineSubject {
  readonly masterKey: Buffer;
  storeUrl(): string;
  storedText(): Promise<string>;
  /** Opens a separate connection, which is closed after the test. */
  openStore(): Store;
  /** Opens a separate connection, like another process. */
  openIdentity(now?: () => number): Identity;
}

/** Runs the suite on each engine. All tests of an engine share a store, so names are random. */
export function describeOnEngines(
  title: string,
  suite: (subject: EngineSubject) => void,
  engines = integrationEngines,
) {
  describe.each(engines)(`${title} on %s`, (name) => {
    const masterKey = randomBytes(32);
    const stores: Store[] = [];
    let engine: StoreEngine | undefined;

    beforeAll(async () => {
      engine = await startStoreEngine(name);
    });
    afterEach(async () => {
      await Promise.all(stores.splice(0).map((store) => store.close()));
    });
    afterAll(async () => {
      await engine?.stop();
    });

    function storeUrl(): string {
      if (engine === undefined) {
        throw new Error('The engine has not started.');
      }
      return engine.storeUrl;
    }

    function openStore(): Store {
      const store = createStore(storeUrl());
      stores.push(store);
      return store;
    }

    suite({
      masterKey,
      storeUrl,
      storedText: async () => (await engine?.storedText()) ?? '',
      openStore,
      openIdentity: (now) =>
        openIdentity({ store: openStore(), masterKey, ...(now === undefined ? {} : { now }) }),
    });
  });
}

/** A client with a random id. */
export function newClient(changes: Partial<NewClient> = {}): NewClient {
  return {
    clientId: randomUUID(),
    name: 'Test',
    orgId: 'org-1',
    signatureAlgorithm: 'SHA-256',
    grantTypes: ['client_credentials'],
    redirectUris: [],
    postLogoutRedirectUris: [],
    scopes: ['device:read'],
    applicationType: 'web',
    public: false,
    firstParty: false,
    resourceServer: false,
    ownOrganizationOnly: false,
    corsOrigins: [],
    ipAllowList: [],
    ...changes,
  };
}

/** The key that signs now. */
export async function loadSigningKey(...words: Parameters<typeof loadSigningKeys>) {
  return (await loadSigningKeys(...words)).current;
}
