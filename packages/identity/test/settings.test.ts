// requires: redis-server
/** The resources that operators declare, and the clients that may use their scopes. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { isDomainAllowed, scopesOfResource } from '../src/index.ts';
import { describeOnEngines, newClient } from './engines.ts';

const scope = (description: string, roles: readonly string[] = []) => ({
  description,
  roles: [...roles],
});

/** A resource with scopes of a random name. */
function newResource(roles: readonly string[] = []) {
  const name = randomUUID();
  const resource = `https://${name}.example/api`;
  const [read, write] = [`${name}:read`, `${name}:write`] as const;
  const scopes = { [read]: scope('Read'), [write]: scope('Write', roles) };
  return { resource, read, write, declared: { resource, name, scopes } };
}

describeOnEngines('the settings', ({ openIdentity }) => {
  test('every process reads a declared resource, whose identifier replaces an earlier one', async () => {
    const { settings } = openIdentity();
    const { resource, read, declared } = newResource(['accountant']);
    await settings.apply({ resources: [declared], roles: ['support'] });
    const other = openIdentity().settings;
    const found = await other.read();
    expect(found.resources.get(resource)).toEqual(declared);
    expect(found.scopes.get(read)?.resource.resource).toBe(resource);
    expect([...found.roles]).toEqual(expect.arrayContaining(['support', 'accountant']));
    expect(await other.read()).toBe(found);

    await settings.apply({ resources: [{ ...declared, name: 'Renamed' }], roles: [] });
    const changed = await openIdentity().settings.read();
    expect(changed.resources.get(resource)?.name).toBe('Renamed');
    expect([...changed.roles]).toContain('support');
  });

  test('keep nothing else of a bootstrap file, such as the keys of its clients', async () => {
    const { settings, store } = openIdentity();
    const secureKey = randomUUID();
    const file = { roles: [randomUUID()], clients: [{ clientId: 'c', secureKey }] };
    await settings.apply(file);
    const stored = await store.get('settings');
    expect(stored).toContain(file.roles[0]);
    expect(stored).not.toContain(secureKey);
  });

  test('the registration of an organization is closed until it is declared open', async () => {
    const { settings } = openIdentity();
    const orgId = randomUUID();
    expect((await settings.read()).registrationOf(orgId)).toBeUndefined();
    const declared = { open: true, emailDomains: ['example.com'] };
    await settings.apply({ registration: { organizations: { [orgId]: declared } } });
    await settings.apply({ roles: ['another change'] });
    const open = (await openIdentity().settings.read()).registrationOf(orgId);
    expect(open).toEqual(declared);
    for (const [email, isAllowed] of [
      ['a@example.com', true],
      ['a@EXAMPLE.com', true],
      ['a@sub.example.com', false],
      ['a@example.com.evil.example', false],
      ['a@evilexample.com', false],
    ] as const) {
      expect([email, open && isDomainAllowed(open, email)]).toEqual([email, isAllowed]);
    }
    expect((await settings.read()).registrationOf('constructor')).toBeUndefined();
    await settings.apply({ registration: { organizations: { [orgId]: { open: false } } } });
    expect((await openIdentity().settings.read()).registrationOf(orgId)).toBeUndefined();
  });

  test('hosts that may be private stay until others are declared', async () => {
    const { settings } = openIdentity();
    const privateHosts = ['keys.internal', 'localhost'];
    await settings.apply({ privateHosts });
    await settings.apply({});
    expect((await openIdentity().settings.read()).privateHosts).toEqual(privateHosts);
    await settings.apply({ privateHosts: [] });
    expect((await openIdentity().settings.read()).privateHosts).toEqual([]);
  });

  test('users change their profile but not their address or data, unless operators decide', async () => {
    const { settings } = openIdentity();
    const inForce = async () => (await openIdentity().settings.read()).selfService;
    await settings.apply({ selfService: {} });
    expect(await inForce()).toEqual({ profile: true, email: false, data: false });
    await settings.apply({ selfService: { profile: true, data: true } });
    await settings.apply({});
    expect(await inForce()).toEqual({ profile: true, email: true, data: true });
    await settings.apply({ selfService: { profile: false } });
    expect(await inForce()).toEqual({ profile: false, email: false, data: false });
  });

  test('no two resources have the same scope', async () => {
    const { settings } = openIdentity();
    const { read, declared } = newResource();
    await settings.apply({ resources: [declared], roles: [] });
    const other = { ...declared, resource: 'https://other.example' };
    await expect(settings.apply({ resources: [other], roles: [] })).rejects.toThrow(
      `both declare the scope`,
    );
    expect((await settings.read()).scopes.get(read)?.resource.resource).toBe(declared.resource);
  });

  test('a client gets only declared scopes, and the resource of its first scope', async () => {
    const { settings, clients } = openIdentity();
    const { resource, read, write, declared } = newResource();
    await expect(clients.save(newClient({ scopes: [read] }))).rejects.toThrow(
      `No resource declares the scope ${read}`,
    );
    await settings.apply({ resources: [declared], roles: [] });
    const own = await clients.save(newClient({ scopes: ['openid', write, read] }));
    expect(own.defaultResource).toBe(resource);
    const mixed = await clients.save(newClient({ scopes: [read, 'device:read'] }));
    expect(mixed.defaultResource).toBeUndefined();
    const chosen = newClient({ scopes: [read, 'device:read'], defaultResource: resource });
    expect((await clients.save(chosen)).defaultResource).toBe(resource);
    await expect(
      clients.save(newClient({ defaultResource: 'https://unknown.example' })),
    ).rejects.toThrow('is not declared');
  });

  test('a client that signs has the scopes of its default resource', async () => {
    const { settings, clients, principalOf } = openIdentity();
    const { resource, read, declared } = newResource();
    await settings.apply({ resources: [declared], roles: [] });
    const scopes = [read, 'device:read', 'openid'];
    const device = await clients.save(newClient({ scopes }));
    expect(await principalOf(device)).toMatchObject({
      resource: undefined,
      scopes: new Set(['device:read']),
    });
    const own = await clients.save(newClient({ scopes, defaultResource: resource }));
    const principal = await principalOf(own);
    expect(principal).toMatchObject({ resource, scopes: new Set([read]) });
    expect(await principalOf(own)).toBe(principal);
    expect(scopesOfResource(scopes, 'https://unknown.example', await settings.read())).toEqual([]);
  });

  test('a gateway adds its address, with or without a slash, as a name of the device API', async () => {
    const { settings } = openIdentity();
    await settings.addDeviceApi('https://API.example/');
    expect(await settings.isDeviceApi('https://api.example')).toBe(true);
    expect(await settings.isDeviceApi('https://api.example/')).toBe(true);
    expect(await settings.isDeviceApi('https://api.example/other')).toBe(false);
  });
});
