import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openIdentity, settingsMembers } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { until } from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { runGatehouse } from './run-gatehouse.ts';

const settingsSchema = z.object({ upstreams: settingsMembers.upstreams });

const directory = temporaryFolder();
const masterKey = randomBytes(32);
const storeUrl = `sqlite:${join(directory, 'store')}`;
const environment: Record<string, string> = {
  STORE_URL: storeUrl,
  MASTER_KEY_FILE: writeMasterKey(directory, masterKey),
  DATA_DIR: directory,
};
const gatehouse = (args: string) => runGatehouse(environment, args.split(' '));
const jsonOf = async (args: string) => (await gatehouse(`${args} --json`)).json;
const codeOf = async (args: string) => (await gatehouse(args)).code;
const newestEntry = async (filter: string) =>
  (await jsonOf(`audit list ${filter} --limit 1`)).entries[0];

async function withIdentity<Result>(
  work: (identity: ReturnType<typeof openIdentity>) => Promise<Result>,
): Promise<Result> {
  const store = createStore(storeUrl);
  try {
    return await work(openIdentity({ store, masterKey }));
  } finally {
    await store.close();
  }
}

beforeAll(async () => {
  await gatehouse('organizations add acme');
  await gatehouse('organizations add umbrella');
});

describe('removing', () => {
  test('shows its effect and changes nothing until it is confirmed', async () => {
    await gatehouse('organizations add asked');
    await gatehouse('clients add asked --org asked');
    await gatehouse('users add asked --org asked --generate');
    const lists = () =>
      Promise.all(['organizations', 'clients', 'users'].map((kind) => jsonOf(`${kind} list`)));
    const before = await lists();
    for (const [command, effect] of [
      [
        'users remove asked',
        'This removes the user asked (organization: asked, sessions: 0, applications with access: 0). The audit trail keeps the id ',
      ],
      [
        'clients remove asked',
        'This removes the client asked (organization: asked, keys: 1, tokens and grants: 0).',
      ],
      [
        'organizations remove asked',
        'This removes the organization asked (clients: asked; users: 1). Its devices stay in the database.',
      ],
    ] as const) {
      const { code, errors } = await gatehouse(command);
      expect([code, errors]).toEqual([1, expect.stringContaining(effect)]);
    }
    expect(await lists()).toEqual(before);
    const typed = { typed: ['y'] };
    const removed = await runGatehouse(environment, ['users', 'remove', 'asked'], typed);
    expect(removed).toMatchObject({ code: 0, output: 'Removed the user asked.\n' });
    expect(await codeOf('users show asked')).toBe(1);
    expect(await jsonOf('clients remove asked --yes')).toEqual({
      removed: { clientId: 'asked', orgId: 'asked', keys: 1, tokens: 0 },
    });
    expect((await newestEntry('--client asked')).change).toBe('removed');
    for (const command of ['users remove asked', 'clients remove asked']) {
      expect(await codeOf(`${command} --yes`)).toBe(1);
    }
  });

  test('an organization names some of its members, and its id is not given away silently', async () => {
    await gatehouse('organizations add gone');
    for (let i = 0; i < 7; i += 1) {
      await gatehouse(`clients add gone-${i} --org gone`);
    }
    const { errors } = await gatehouse('organizations remove gone');
    expect(errors).toMatch(/clients: gone-\d(, gone-\d){4} and 2 more; users: 0\)/);
    expect(await codeOf('organizations remove gone --yes')).toBe(0);
    const again = await gatehouse('organizations add gone');
    expect([again.code, again.errors]).toEqual([
      1,
      expect.stringMatching(/removed at 20\S+Z. The new one gets its devices/),
    ]);
    expect(await codeOf('organizations add gone --yes')).toBe(0);
  });

  test('warns that a bootstrap file adds the record again', async () => {
    const named = { ...environment, BOOTSTRAP_FILE: 'bootstrap.json' };
    await gatehouse('clients add booted --org acme');
    const { errors } = await runGatehouse(named, ['clients', 'remove', 'booted', '--yes']);
    expect(errors).toContain('The next start of a server adds everything in BOOTSTRAP_FILE again');
  });

  test('a replay of the audit trail disables what was removed, and removes nothing', async () => {
    const since = new Date(Date.now() + 60_000).toISOString();
    await gatehouse('organizations add replayed');
    await gatehouse('clients add replayed --org replayed');
    await gatehouse('users add replayed --org acme --generate');
    const { user } = await jsonOf('users show replayed');
    // What an export contains that the restored store does not.
    const entry = { at: since, severity: 'notice', outcome: 'success', actor: 'cli' };
    const exported = await withIdentity(async ({ audit }) => {
      const write = (event: object) => audit.write({ ...entry, ...event } as never, entry);
      await write({ event: 'user_changed', userId: user.userId, change: 'removed' });
      await write({ event: 'client_changed', clientId: 'unknown', change: 'removed' });
      await write({ event: 'organization_removed', organizationId: 'replayed' });
    }).then(() => gatehouse('audit export'));
    const file = join(directory, 'export.ndjson');
    writeFileSync(file, exported.output);
    const replayed = await jsonOf(`audit replay ${file} --since 1s --yes`);
    expect(replayed.changed).toEqual([
      'Disabled the client replayed: it was removed after the backup.',
      'Disabled the user replayed, who was removed after the backup.',
    ]);
    expect(replayed.repeat).toEqual(
      expect.arrayContaining([
        'Remove the user replayed again.',
        'Remove the organization replayed again.',
      ]),
    );
    expect(replayed.repeat.join()).not.toContain('unknown');
    expect((await jsonOf('users show replayed')).user.enabled).toBe(false);
    expect((await jsonOf('clients show replayed')).client.enabled).toBe(false);
  });

  test('a replay disconnects an account at a provider, unless it was connected again', async () => {
    const at = new Date(Date.now() + 60_000).toISOString();
    const { user } = await jsonOf('users add linked --org acme --generate');
    const { userId } = user;
    const provider = { name: 'A', issuer: 'https://a.example', clientId: 'a' };
    await withIdentity(async ({ audit, settings, upstreamLinks, users }) => {
      const { upstreams = [] } = settingsSchema.parse({
        upstreams: ['left', 'kept'].map((id) => ({ ...provider, id })),
      });
      await settings.apply({ upstreams });
      for (const upstream of upstreams) {
        await upstreamLinks.ensure(upstream, 'subject', async (link) => {
          await link(userId);
          return users.update(userId, (each) => each);
        });
      }
      const origin = { at, severity: 'notice', outcome: 'success', actor: 'cli' };
      for (const [upstream, change] of [
        ['left', 'upstream_unlinked'],
        ['kept', 'upstream_unlinked'],
        ['kept', 'upstream_linked'],
      ]) {
        const event = { ...origin, event: 'user_changed', userId, change, upstream };
        await audit.write(event as never, origin);
      }
    });
    const file = join(directory, 'links.ndjson');
    writeFileSync(file, (await gatehouse('audit export')).output);
    const { changed } = await jsonOf(`audit replay ${file} --since 1s --yes`);
    expect(changed).toContain('Disconnected the user linked from the provider left.');
    const links = await withIdentity(({ upstreamLinks }) => upstreamLinks.list(userId));
    expect(links).toEqual(['kept']);
  });
});

describe('changing', () => {
  test('a username keeps the user id, and the trail forgets both names with the user', async () => {
    const { user } = await jsonOf('users add renamed --org acme --generate');
    expect(await codeOf('users change renamed --username=')).toBe(2);
    const { user: after } = await jsonOf('users change renamed --username Other --add-role r');
    expect(after).toMatchObject({ userId: user.userId, username: 'Other', roles: ['r'] });
    const { output } = await gatehouse('audit list --user other --limit 1');
    expect(output).toContain('changes=roles [] → ["r"], username "renamed" → "Other"');
    const exported = (await gatehouse('audit export')).output;
    expect(exported).toContain(user.userId);
    expect(exported).not.toContain('"renamed"');
    await gatehouse('users remove other --yes');
    const kept = await gatehouse(`audit list --user ${user.userId}`);
    expect(kept.output).toContain('changes=roles [] → ["r"], username');
    expect(kept.output).not.toMatch(/renamed|Other/);
  });

  test('the organization revokes what was issued for the former one, after confirmation', async () => {
    await gatehouse('users add moving --org acme --generate');
    await gatehouse('clients add moving --org acme');
    for (const [kind, effect] of [
      ['users', 'moves moving from acme to umbrella and signs moving out everywhere'],
      ['clients', 'moves moving from acme to umbrella and revokes everything issued to moving'],
    ] as const) {
      const command = `${kind} change moving --org`;
      const member = kind.slice(0, -1);
      const { code, errors } = await gatehouse(`${command} umbrella`);
      expect([code, errors]).toEqual([1, expect.stringContaining(effect)]);
      expect((await jsonOf(`${kind} show moving`))[member].orgId).toBe('acme');
      expect((await jsonOf(`${command} umbrella --yes`))[member].orgId).toBe('umbrella');
    }
  });

  test('with a bootstrap file is audited once, with values', async () => {
    const file = join(directory, 'bootstrap.json');
    const apply = async (email: string) => {
      const user = { username: 'filed', password: 'Trombone-7 lake', name: 'F', orgId: 'acme' };
      const client = { clientId: 'filed', name: 'F', orgId: 'acme', secureKey: 'Qx7Zw2Kp9TfR4mVs' };
      const clients = [{ ...client, ipAllowList: email === '' ? [] : ['10.0.0.1'] }];
      const users = [{ ...user, ...(email === '' ? {} : { email }) }];
      writeFileSync(file, JSON.stringify({ clients, users }), { mode: 0o600 });
      expect(await codeOf(`bootstrap apply ${file}`)).toBe(0);
    };
    for (const email of ['', 'f@corp.example', 'f@corp.example']) {
      await apply(email);
    }
    const changed = async (filter: string) =>
      (await jsonOf(`audit list ${filter}`)).entries.map(
        ({ changes }: { changes: unknown }) => changes,
      );
    expect(await changed('--client filed')).toEqual([
      [{ member: 'ipAllowList', from: [], to: ['10.0.0.1'] }],
    ]);
    expect(await changed('--user filed')).toEqual([[{ member: 'email', to: 'f@corp.example' }]]);
  });

  test('is audited with values, but without secrets, keys and endless lists', async () => {
    const added = await jsonOf('clients add audited --org acme');
    const ranges = Array.from({ length: 200 }, (_, i) => `--add-ip-allow 10.0.0.${i}`);
    await gatehouse(`clients change audited ${ranges.join(' ')}`);
    await gatehouse('clients change audited --add-ip-allow 10.0.1.1');
    const [change] = (await newestEntry('--client audited')).changes;
    expect(change).toEqual({ member: 'ipAllowList', from: ['…'], to: ['…', '10.0.1.1'] });
    await gatehouse('users add secretive --org acme --generate');
    await gatehouse('users password secretive --generate');
    const trail = (await gatehouse('audit list --limit 500 --json')).output;
    expect(trail).not.toContain(added.secureKey);
    expect(trail).not.toMatch(/sealed|[Hh]ash|argon2|"personal"/);
    expect(Math.max(...trail.split('{"id"').map(({ length }) => length))).toBeLessThan(1500);
  });
});

describe('finding', () => {
  test('when users last signed in, and when clients and keys were last used', async () => {
    await gatehouse('users add used --org acme --generate');
    const { client, secureKey } = await jsonOf('clients add used --org acme');
    const { userId } = (await jsonOf('users show used')).user;
    const [{ keyId }] = client.keys;
    expect((await gatehouse('clients show used')).output).toMatch(/^last use +-$/m);
    await withIdentity(async ({ clients, audit, lastUse }) => {
      clients.identifySecret(await clients.find('used'), 'not the key');
      expect(await lastUse.ofClient('used')).toBeUndefined();
      expect(clients.identifySecret(await clients.find('used'), secureKey)).toBe(keyId);
      const event = { event: 'sign_in_succeeded', method: 'page', userId } as const;
      audit.record(event, { actor: 'test' });
      await audit.flush();
      await until(async () => (await lastUse.ofUser(userId)) !== undefined);
    });
    const minute = /last used \d{4}-\d\d-\d\dT\d\d:\d\dZ$/m;
    expect((await gatehouse('clients show used')).output).toMatch(minute);
    const { lastUse } = await jsonOf('clients show used');
    expect(lastUse).toEqual({ at: lastUse.at, keys: { [keyId]: lastUse.at } });
    const age = Date.now() / 1000 - (await jsonOf('users show used')).user.lastSignInAt;
    expect(age).toBeLessThan(120);
    const [listed] = (await jsonOf('users list --search used')).users;
    expect(listed.lastSignInAt).toBeGreaterThan(0);
    expect((await gatehouse('users list --search used')).output).toMatch(/T\d\d:\d\dZ/);
  });
});
