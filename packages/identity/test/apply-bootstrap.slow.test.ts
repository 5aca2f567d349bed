// requires: redis-server

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';
import { type BootstrapDefinition, bootstrapSchema } from '../src/bootstrap/bootstrap-schema.ts';
import { prepareStore } from '../src/connect-identity.ts';
import { applyBootstrap, generateSecureKey } from '../src/index.ts';
import { describeOnEngines } from './engines.ts';

const run = promisify(execFile);
const program = join(import.meta.dirname, 'bootstrap-process.ts');
const directory = temporaryFolder();

/** An organization, a client and a user with random names. */
function newContent() {
  const id = randomUUID();
  return {
    organizations: [{ id: `org-${id}`, name: 'Example' }],
    clients: [
      { clientId: `client-${id}`, secureKey: generateSecureKey(), name: 'A', orgId: `org-${id}` },
    ],
    users: [{ username: `user-${id}`, password: 'from the file', name: 'U', orgId: `org-${id}` }],
  };
}

const define = (content: unknown): BootstrapDefinition => bootstrapSchema.parse(content);

describeOnEngines('bootstrap', ({ openIdentity, storeUrl, masterKey }) => {
  test('a server records replaced keys, new passwords and disabled records of its bootstrap file', async () => {
    const content = newContent();
    const identity = openIdentity();
    const [client] = content.clients as [(typeof content.clients)[0]];
    const [user] = content.users as [(typeof content.users)[0]];
    const { clientId } = client;
    const keys = [client.secureKey, generateSecureKey(), generateSecureKey()];
    const start = (clientMembers: object, userMembers: object = {}) => {
      const bootstrap = define({
        ...content,
        clients: [{ ...client, ...clientMembers }],
        users: [{ ...user, ...userMembers }],
      });
      const publicUrl = 'http://localhost';
      return prepareStore(identity, { bootstrap, publicUrl }, { actor: 'gateway' });
    };
    for (const secureKey of keys) {
      await start({ secureKey });
    }
    await start(
      { secureKey: keys[2], enabled: false },
      { password: 'a later one', enabled: false },
    );
    await start(
      { secureKey: keys[2], enabled: false },
      { password: 'a later one', enabled: false },
    );
    const userId = (await identity.users.findByUsername(user.username))?.userId ?? never();
    const entries = await identity.audit.read({ limit: 100 });
    const found = entries
      .toReversed()
      .filter((entry) => entry.clientId === clientId || entry.userId === userId);
    const [first, second, third] = keys.map((key) => identity.clients.secureKeyId(key));
    const ofClient = { event: 'client_changed', clientId, actor: 'gateway' };
    const ofUser = { event: 'user_changed', userId, actor: 'gateway' };
    expect(found).toMatchObject([
      { ...ofClient, change: 'key_added', keyId: second },
      { ...ofClient, change: 'key_added', keyId: third },
      { ...ofClient, change: 'key_removed', keyId: first },
      { ...ofClient, change: 'disabled' },
      { ...ofUser, change: 'password_changed' },
      { ...ofUser, change: 'disabled' },
    ]);
  });

  test('does not change other records, nor a record that an operator disabled', async () => {
    const [earlier, later] = [newContent(), newContent()];
    const identity = openIdentity();
    await applyBootstrap(define(earlier), identity);
    const client = await identity.clients.find(earlier.clients[0]?.clientId ?? '');
    await identity.clients.save({
      ...(client ?? never()),
      enabled: false,
      notBefore: 1_700_000_000,
    });
    await applyBootstrap(define(later), openIdentity());
    await applyBootstrap(define(earlier), openIdentity());
    expect(await openIdentity().clients.find(client?.clientId ?? '')).toEqual({
      ...client,
      enabled: false,
      notBefore: 1_700_000_000,
    });
  });

  test('reports every client and user of an unknown organization, and writes nothing', async () => {
    const content = newContent();
    const strangers = content.clients.map((client) => ({ ...client, orgId: 'marker' }));
    const identity = openIdentity();
    const applied = applyBootstrap(
      define({
        ...content,
        clients: strangers,
        users: content.users.map((user) => ({ ...user, orgId: 'marker' })),
      }),
      identity,
    );
    await expect(applied).rejects.toBeInstanceOf(ConfigurationError);
    await expect(applied).rejects.toThrow(
      'BOOTSTRAP_FILE clients.0.orgId: names an organization that does not exist\n' +
        'BOOTSTRAP_FILE users.0.orgId: names an organization that does not exist',
    );
    expect(await identity.clients.find(strangers[0]?.clientId ?? '')).toBeUndefined();
    expect(await identity.organizations.find(content.organizations[0]?.id ?? '')).toBeUndefined();
  });

  test('has the same result if two processes apply it together', async () => {
    const content = newContent();
    const file = join(directory, `${randomUUID()}.json`);
    writeFileSync(file, JSON.stringify(content));
    const start = () =>
      run(process.execPath, [program, storeUrl(), masterKey.toString('hex'), file]);
    await Promise.all([start(), start()]);
    const identity = openIdentity();
    const client = await identity.clients.find(content.clients[0]?.clientId ?? '');
    expect(client && identity.clients.secureKeys(client)).toEqual([content.clients[0]?.secureKey]);
    expect(
      await identity.users.verify(content.users[0]?.username ?? '', 'from the file'),
    ).toBeDefined();
  });
});

function never(): never {
  throw new Error('The client was not found.');
}
