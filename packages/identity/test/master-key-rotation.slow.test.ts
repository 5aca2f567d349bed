// requires: redis-server

import { randomBytes } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStore, NEVER_EXPIRES, type Store } from '@gatehouse/store';
import { codeOfApp, startStoreEngine, storeEngines, until, wrappedStore } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  assertMasterKeyFits,
  createSealer,
  examineRecords,
  finishMasterKeyRotation,
  lastingKey,
  loadMasterKey,
  openIdentity,
  rotateMasterKey,
  userSessionsKey,
} from '../src/index.ts';
import { loadSigningKeys } from '../src/secrets/signing-keys.ts';
import { newClient } from './engines.ts';

const HOUR = 3_600_000;

describe.each(storeEngines)('the rotation of the master key on %s', (engineName) => {
  let engine: Awaited<ReturnType<typeof startStoreEngine>>;
  let stores: Store[];
  let directory: string;
  let path: string;
  let time: number;

  beforeEach(async () => {
    engine = await startStoreEngine(engineName);
    stores = [];
    directory = temporaryFolder();
    path = join(directory, 'master.key');
    writeFileSync(path, randomBytes(32).toString('hex'), { mode: 0o600 });
    time = Date.now();
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await engine.stop();
  });

  /** Opens a separate connection with its own copy of the keys, like another process. */
  function open(masterKey: Parameters<typeof openIdentity>[0]['masterKey']) {
    const store = createStore(engine.storeUrl);
    stores.push(store);
    return openIdentity({ store, masterKey });
  }
  function start(wait: () => Promise<void> = async () => undefined) {
    const masterKey = loadMasterKey(path, false);
    const identity = open(masterKey);
    const rotation = { identity, path, wait, now: () => time };
    const step = () => rotateMasterKey(rotation);
    return {
      identity,
      step,
      /** Both steps: adds a key unless there is one, then encrypts with it. */
      async rotate() {
        const first = await step();
        return first.change === 'added' ? step() : first;
      },
      finish: () => finishMasterKeyRotation(rotation),
      unreadable: async () => (await examineRecords(rotation)).unreadable,
    };
  }
  const firstKey = () => Buffer.from(readFileSync(path, 'utf8').slice(0, 64), 'hex');

  /** A client with an active and a removed key, a session and a second factor of a user, and both signing keys. */
  async function fill() {
    const { identity } = start();
    const { clients, users, store, sealer, credentialHash } = identity;
    await assertMasterKeyFits(identity);
    await clients.save(newClient({ clientId: 'client-1' }), 'the-first-secure-key-of-a-client');
    await clients.rotateKey('client-1', { replaceOldest: false });
    const [, oldest] = clients.describeKeys((await clients.find('client-1')) ?? fail());
    await clients.removeKey('client-1', oldest?.keyId ?? '');
    await loadSigningKeys('gateway', { store, sealer });
    await loadSigningKeys('authorization-server', { store, sealer });
    const user = { username: 'alice', password: randomBytes(16).toString('hex'), name: 'Alice' };
    const { userId } = await users.ensure({ ...user, orgId: 'org-1' });
    const uidKey = `oidc:Session:uid:${credentialHash('uid-1')}`;
    const session = JSON.stringify({ accountId: userId, uid: 'uid-1' });
    await store.set('oidc:Session:1', sealer.seal(session, 'oidc:Session:1'), 3600);
    await store.set(uidKey, sealer.seal('session-1', uidKey), 3600);
    await store.addToIndex(userSessionsKey(userId), 'oidc:Session:1', NEVER_EXPIRES);
    const secret = identity.factors.newSecret();
    const added = { secret, isFirst: true };
    await identity.factors.enroll(userId, added, codeOfApp(secret));
    const passkey = { id: 'AAAA', publicKey: 'AAAA', counter: 0, name: 'Key', transports: [] };
    await identity.passkeys.add(userId, { ...passkey, isDeviceBound: true, isBackedUp: false });
    return {
      userId,
      uidKey,
      secureKeys: clients.secureKeys((await clients.find('client-1')) ?? fail()),
    };
  }

  test('after a rotation, the new key decrypts everything and the old key nothing', async () => {
    const { userId, uidKey, secureKeys } = await fill();
    const oldKey = firstKey();
    const { rotate, unreadable, finish } = start();
    expect(await rotate()).toMatchObject({ changedRecords: 7 });
    expect(await unreadable()).toBe(0);
    await expect(finish()).rejects.toThrow(/need the previous key for 60 more minutes/);
    time += HOUR;
    await finish();

    const { identity } = start();
    await assertMasterKeyFits(identity);
    const client = (await identity.clients.find('client-1')) ?? fail();
    expect(identity.clients.secureKeys(client)).toEqual(secureKeys);
    const pointer = (await identity.store.get(uidKey)) ?? '';
    expect(identity.sealer.open(pointer, uidKey)).toBe('session-1');
    expect(await identity.factors.describe(userId)).toMatchObject({ recoveryCodes: 10 });
    expect(await identity.passkeys.list(userId)).toMatchObject([{ name: 'Key' }]);

    const withOldKey = open(oldKey);
    await expect(assertMasterKeyFits(withOldKey)).rejects.toThrow('differs from the master key');
    expect(withOldKey.clients.secureKeys(client)).toEqual([]);
    expect(() => createSealer(oldKey).open(pointer, uidKey)).toThrow('cannot be decrypted');
    expect(await engine.storedText()).not.toContain(firstKey().toString('hex'));
  });

  test('hashes of credentials and successors of refresh tokens stay, so tokens stay valid', async () => {
    await fill();
    const before = start().identity.credentialHash('token');
    for (const _rotation of [1, 2]) {
      await start().rotate();
      time += HOUR;
      await start().finish();
    }
    expect(start().identity.credentialHash('token')).toBe(before);
  });

  test('a server that has read the old file accepts what others encrypt with the new key at once', async () => {
    await fill();
    const server = start().identity;
    await start().rotate();
    const sealed = createSealer(firstKey()).seal('from another server', 'context');
    expect(server.sealer.open(sealed, 'context')).toBe('from another server');
    const client = (await server.clients.find('client-1')) ?? fail();
    expect(server.clients.secureKeys(client)).toHaveLength(1);
  });

  test('the time of an earlier rotation does not end one that was killed at its end', async () => {
    await fill();
    const { identity, step } = start();
    // An earlier release left it.
    await identity.store.set('master-key-switched-at', String(time - HOUR));
    await step();
    const store = wrappedStore(identity.store, (run, operation) =>
      operation === 'set' ? Promise.reject(new Error('killed')) : run(),
    );
    const killed = { path, wait: async () => undefined, identity: { ...identity, store } };
    await expect(rotateMasterKey(killed)).rejects.toThrow('killed');
    const { finish } = start();
    await expect(finish()).rejects.toThrow('Run gatehouse master-key rotate again.');
    await step();
    await expect(finish()).rejects.toThrow(/for 60 more minutes/);
  });

  test('an interrupted rotation continues with the same key', async () => {
    await fill();
    const interrupted = start(() => Promise.reject(new Error('killed')));
    await expect(interrupted.rotate()).rejects.toThrow('killed');
    const newKey = firstKey();
    await expect(start().finish()).rejects.toThrow(
      'Records need the previous key (canary: 1, signing key: 2, client: 1, second factor: 1, session: 2). Run gatehouse master-key rotate again.',
    );
    expect(await start().step()).toMatchObject({ changedRecords: 7, change: 'continued' });
    expect(firstKey()).toEqual(newKey);
  });

  test('a rotation fails while the last one waits for its end, and does not restart its hour', async () => {
    await fill();
    expect(await start().rotate()).toMatchObject({ change: 'rotated' });
    const leaked = firstKey();
    time += HOUR;
    await expect(start().step()).rejects.toThrow(
      'No new key: the last rotation is not finished. Run gatehouse master-key rotate --finish first.',
    );
    await start().finish();
    expect(await start().rotate()).toMatchObject({ change: 'rotated' });
    expect(firstKey()).not.toEqual(leaked);
  });

  test('the end of a rotation keeps the key of another one that started after its check', async () => {
    await fill();
    await start().rotate();
    time += HOUR;
    const slow = start();
    const { store } = slow.identity;
    const get = store.get.bind(store);
    let isOvertaken = false;
    Object.assign(store, {
      async get(key: string) {
        const text = await get(key);
        if (key === 'master-key-switched-at' && !isOvertaken) {
          isOvertaken = true;
          await start().finish();
          const interrupted = start(() => Promise.reject(new Error('killed')));
          await expect(interrupted.rotate()).rejects.toThrow('killed');
        }
        return text;
      },
    });
    await expect(slow.finish()).rejects.toThrow('Another command changed the key file.');
    expect(isOvertaken).toBe(true);
    await assertMasterKeyFits(start().identity);
    expect(await start().step()).toMatchObject({ change: 'continued', changedRecords: 7 });
  });

  test('a new key decrypts before it encrypts, until the second run', async () => {
    const { identity } = start();
    await fill();
    const oldKey = firstKey();
    const { change, keyId } = await start().step();
    expect([change, firstKey()]).toEqual(['added', oldKey]);
    await expect(start().finish()).rejects.toThrow('The file has no previous key.');
    const next = Buffer.from(
      /next ([0-9a-f]{64})/.exec(readFileSync(path, 'utf8'))?.[1] ?? '',
      'hex',
    );
    const sealed = createSealer(next).seal('from another host', 'context');
    expect(identity.sealer.open(sealed, 'context')).toBe('from another host');
    const text = identity.sealer.seal('text', 'context');
    expect(createSealer(oldKey).open(text, 'context')).toBe('text');
    expect(await start().step()).toMatchObject({ change: 'rotated', keyId });
    expect(firstKey()).toEqual(next);
  });

  test('of two concurrent rotations, one makes a key, and the other helps or fails', async () => {
    await fill();
    const before = firstKey();
    await start().step();
    const outcomes = await Promise.allSettled([start().step(), start().step()]);
    const done = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(done.filter(({ change }) => change === 'rotated')).toHaveLength(1);
    for (const each of outcomes) {
      expect(each.status === 'rejected' ? each.reason.message : 'No new key').toMatch('No new key');
    }
    expect(readFileSync(path, 'utf8')).toContain(`previous ${before.toString('hex')}`);
    time += HOUR;
    await start().finish();
  });

  test('a session that ends during the rotation does not come back', async () => {
    await fill();
    const { identity, step } = start();
    await step();
    const { store } = identity;
    const get = store.get.bind(store);
    let reads = 0;
    Object.assign(store, {
      async get(key: string) {
        const text = await get(key);
        reads += key === 'oidc:Session:1' ? 1 : 0;
        if (key === 'oidc:Session:1' && reads === 2) {
          await store.delete([key]);
        }
        return text;
      },
    });
    await step();
    expect(reads).toBeGreaterThanOrEqual(2);
    expect(await get('oidc:Session:1')).toBeUndefined();
  });

  test('a file without the last lines of a rotated key is rejected, and tokens do not vanish', async () => {
    await fill();
    await start().rotate();
    writeFileSync(path, `${firstKey().toString('hex')}\n`);
    await expect(assertMasterKeyFits(start().identity)).rejects.toThrow(
      'MASTER_KEY_FILE: names a file without the credential-pepper line of this store',
    );
  });

  test.each([
    ['credential-pepper', 'after the rotation'],
    ['refresh-successor', 'after the rotation'],
    ['credential-pepper', 'after the previous key was removed'],
    ['refresh-successor', 'after the previous key was removed'],
  ])('a file that lacks its %s line is rejected %s', async (label, when) => {
    await fill();
    await start().rotate();
    if (when !== 'after the rotation') {
      time += HOUR;
      await start().finish();
    }
    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, lines.filter((line) => !line.startsWith(label)).join('\n'));
    expect(() => start()).toThrow(
      /^MASTER_KEY_FILE: names a file without its credential-pepper and refresh-successor lines/,
    );
  });

  test.each(['next', 'previous'])('a file with only a %s line is rejected', (label) => {
    const key = randomBytes(32).toString('hex');
    writeFileSync(path, `${firstKey().toString('hex')}\n${label} ${key}\n`);
    expect(() => start()).toThrow('Copy the whole file');
  });

  test('a server that loaded the old file derives the same keys after the rotation', async () => {
    await fill();
    const early = loadMasterKey(path, false);
    const late = loadMasterKey(path, false);
    const before = lastingKey(early, 'refresh-successor');
    await start().rotate();
    expect(early.refresh()).toBe(true);
    expect(lastingKey(early, 'refresh-successor')).toEqual(before);
    // The other one reads the file while it derives the key, a second after it has loaded it.
    await until(async () => {
      expect(lastingKey(late, 'refresh-successor')).toEqual(before);
      return late.keys()[0].equals(firstKey());
    });
  });

  test.each([
    ['missing', () => rmSync(path)],
    ['malformed', () => writeFileSync(path, 'no key')],
    [
      'the file of another installation',
      () => writeFileSync(path, randomBytes(32).toString('hex')),
    ],
  ])('a running server reports once that a changed file is %s', async (_problem, change) => {
    const problem = 'it cannot be read, is incomplete, or belongs to another installation';
    await fill();
    const keys = loadMasterKey(path, false);
    const before = readFileSync(path, 'utf8');
    const reports: string[] = [];
    keys.onUnusable((each) => reports.push(each));
    change();
    expect([keys.refresh(), keys.refresh()]).toEqual([false, false]);
    expect(reports).toEqual([problem]);
    expect(keys.keys()).toEqual([Buffer.from(before, 'hex')]);
    writeFileSync(path, before);
    await start().rotate();
    expect(keys.refresh()).toBe(true);
    change();
    keys.refresh();
    expect(reports).toEqual([problem, problem]);
  });

  test('the file keeps its mode, and no other file is left, nor that of a killed command', async () => {
    await fill();
    chmodSync(path, 0o640);
    const interrupted = `${path}.tmp`;
    writeFileSync(interrupted, 'the keys of a command that was killed');
    await start().rotate();
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(directory)).toEqual(['master.key']);
  });
});

function fail(): never {
  throw new Error('The client does not exist.');
}
