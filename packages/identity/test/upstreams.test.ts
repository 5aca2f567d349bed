// requires: redis-server
/** Upstream providers in the settings, their sealed secrets, and links to users. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { examineRecords, SETTINGS_KEY, settingsMembers, type Upstream } from '../src/index.ts';
import { describeOnEngines } from './engines.ts';

const members = z.strictObject({ upstreams: settingsMembers.upstreams });
const entry = { id: 'corp', name: 'Corp', issuer: 'https://corp.example', clientId: 'gatehouse' };
const endpoints = {
  authorizationEndpoint: 'https://a.example/authorize',
  tokenEndpoint: 'https://a.example/token',
  userinfoEndpoint: 'https://a.example/user',
};
const parse = (...upstreams: readonly object[]) => members.safeParse({ upstreams });
const upstreamOf = (changes: object = {}): Upstream => {
  const [found] = members.parse({ upstreams: [{ ...entry, ...changes }] }).upstreams ?? [];
  if (found === undefined) {
    throw new Error('There is no entry.');
  }
  return found;
};

describe('an upstream provider', () => {
  test.each([
    [{}, true],
    [{ issuer: undefined }, false],
    [{ issuer: 'http://corp.example' }, false],
    [{ issuer: 'https://user@corp.example' }, false],
    [{ id: 'Corp' }, false],
    [{ id: '../corp' }, false],
    [{ createUsers: true }, false],
    [{ createUsers: true, orgId: 'org-1' }, true],
    [{ createUsers: true, organizations: { 'corp.example': 'org-1' } }, true],
    [{ organizations: { Corp: 'org-1' } }, false],
    [{ emailDomains: ['corp.example', '@corp.example'] }, false],
    [{ scopes: ['openid profile'] }, false],
    [{ oauth: { ...endpoints, members: { subject: 'id' } } }, false],
    [{ issuer: undefined, oauth: { ...endpoints, members: { subject: 'id' } } }, true],
    [{ issuer: undefined, oauth: { ...endpoints, members: {} } }, false],
    [{ trustFactors: true }, false],
  ])('%j is declared: %p', (changes, isValid) => {
    expect(parse({ ...entry, ...changes }).success).toBe(isValid);
  });

  test('has an id and domains of its own', () => {
    const other = { ...entry, id: 'other' };
    expect(parse(entry, other).success).toBe(true);
    expect(parse(entry, entry).success).toBe(false);
    const emailDomains = ['corp.example'];
    expect(parse({ ...entry, emailDomains }, { ...other, emailDomains }).success).toBe(false);
  });
});

describeOnEngines('upstream providers', ({ openIdentity }) => {
  test('a client secret is sealed, and the same declaration changes nothing', async () => {
    const { settings, store, sealer } = openIdentity();
    const upstreams = [upstreamOf({ clientSecret: 'a secret of the provider' })];
    expect(await settings.apply({ upstreams })).toEqual(['upstreams']);
    expect(await settings.apply({ upstreams })).toEqual([]);
    expect(await settings.apply({ roles: [] })).toEqual([]);
    const text = (await store.get(SETTINGS_KEY)) ?? '';
    expect(text).not.toContain('a secret of');
    const sealed = (await settings.read()).upstreams.get('corp')?.clientSecret ?? '';
    expect(sealer.open(sealed, SETTINGS_KEY)).toBe('a secret of the provider');

    // A rotation of the master key finds it.
    const path = join(mkdtempSync(join(tmpdir(), 'gatehouse-')), 'master.key');
    writeFileSync(path, randomBytes(32).toString('hex'), { mode: 0o600 });
    const { outdated } = await examineRecords({ identity: openIdentity(), path });
    expect(outdated.get('settings')).toBe(1);
    expect(await settings.apply({ upstreams: [] })).toEqual(['upstreams']);
    expect((await settings.read()).upstreams.size).toBe(0);
  });

  test('an account signs in one user, until it is unlinked', async () => {
    const { users, upstreamLinks: links } = openIdentity();
    const upstream = upstreamOf();
    const add = (id?: string) =>
      users.add(
        { username: randomBytes(8).toString('hex'), name: 'A', orgId: 'org-1', ...noClaims },
        id,
      );
    const noClaims = { emailVerified: false, roles: [] };
    const subject = randomBytes(8).toString('hex');
    let count = 0;
    const ensure = () =>
      links.ensure(upstream, subject, async (link) => {
        count += 1;
        return add(await link());
      });
    const found = await Promise.all(Array.from({ length: 20 }, ensure));
    const userId = found[0]?.userId ?? '';
    expect(new Set(found.map((each) => each.userId))).toEqual(new Set([userId]));
    expect(count).toBe(1);
    expect(await links.find({ ...upstream, issuer: 'https://b.example' }, subject)).toBeUndefined();
    expect(await links.find(upstream, `${subject}x`)).toBeUndefined();
    expect(await links.list(userId)).toEqual(['corp']);

    const other = await add();
    expect((await links.ensure(upstream, subject, async () => other)).userId).toBe(userId);
    expect(await links.unlink(other.userId, 'corp')).toBe(false);
    expect(await links.unlink(userId, 'other')).toBe(false);
    expect(await links.unlink(userId, 'corp')).toBe(true);
    expect([await links.list(userId), await links.find(upstream, subject)]).toEqual([
      [],
      undefined,
    ]);
  });

  test('a link without its user is replaced', async () => {
    const { users, upstreamLinks: links, store } = openIdentity();
    const upstream = upstreamOf();
    const subject = randomBytes(8).toString('hex');
    const add = async () => {
      const { userId } = await links.ensure(upstream, subject, async (link) =>
        users.add(
          {
            ...{ username: randomBytes(8).toString('hex'), name: 'A', orgId: 'org-1' },
            ...{ emailVerified: false, roles: [] },
          },
          await link(),
        ),
      );
      return userId;
    };
    const first = await add();
    await store.delete([`user:${first}`]);
    expect(await links.find(upstream, subject)).toBeUndefined();
    const second = await add();
    expect((await links.find(upstream, subject))?.userId).toBe(second);
    expect(await links.list(first)).toEqual([]);
    await links.removeAll(second);
    expect(await links.find(upstream, subject)).toBeUndefined();
  });
});
