import { randomBytes, randomUUID } from 'node:crypto';
import { accessTokenKey, type Identity, openIdentity } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import { integrationEngines, type StoreEngine, startStoreEngine } from '@gatehouse/testing';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { type Operator, type Operators, openOperators } from '../src/index.ts';

export const operator: Operator = {
  ...{ actor: 'console', operator: 'alice', session: 'session-1' },
  ...{ address: '192.0.2.1', requestId: 'request-1' },
};

export interface Opened {
  readonly identity: Identity;
  readonly operators: Operators;
  readonly store: Store;
  readonly masterKey: Buffer;
  /** Another process with the same store. */
  readonly open: () => { readonly identity: Identity; readonly operators: Operators };
}

/** Runs the suite on each engine. Its tests share a store with the organization `acme`. */
export function describeOnBothEngines(title: string, suite: (opened: () => Opened) => void): void {
  describe.each(integrationEngines)(`${title} on %s`, (name) => {
    const masterKey = randomBytes(32);
    let engine: StoreEngine;
    let store: Store;
    let opened: Opened;
    beforeAll(async () => {
      engine = await startStoreEngine(name);
      store = createStore(engine.storeUrl);
      const open = () => {
        const identity = openIdentity({ store, masterKey });
        return { identity, operators: openOperators(identity) };
      };
      opened = { ...open(), store, masterKey, open };
      await opened.operators.organizations.create(operator, { id: 'acme', name: 'Acme' });
    });
    afterAll(async () => {
      await store.close();
      await engine.stop();
    });
    suite(() => opened);
  });
}

/** The code with which an act is rejected. */
export const codeOf = (act: Promise<unknown>): Promise<string | undefined> =>
  act.then(
    () => undefined,
    ({ code }) => code,
  );

/** Stores an access token, as the authorization server does. */
export async function issueToken({ store, identity }: Opened, holder: object): Promise<string> {
  const token = randomUUID();
  const iat = Math.floor(Date.now() / 1000);
  const record = { kind: 'AccessToken', iat, exp: iat + 7200, scope: 'device:read', ...holder };
  await store.set(accessTokenKey(identity.credentialHash(token)), JSON.stringify(record));
  return token;
}
