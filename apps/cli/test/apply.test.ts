// requires: redis-server
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { integrationEngines, type StoreEngine, startStoreEngine } from '@gatehouse/testing';
import { temporaryFolder, writeMasterKey } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

describe.each(integrationEngines)('gatehouse apply and export on %s', (engineName) => {
  let engine: StoreEngine;
  let environment: Record<string, string>;
  let folder: string;
  const gatehouse = (args: string, stdin?: Parameters<typeof runGatehouse>[2]) =>
    runGatehouse(environment, args.split(' '), stdin);
  const apply = (options = '') => gatehouse(`apply -f ${folder}${options}`);
  const write = (file: string, content: unknown) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), JSON.stringify(content));
  };
  const filesOf = (path: string) =>
    Object.fromEntries(
      readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.\w+$/.test(file))
        .map((file) => [file, readFileSync(join(path, file)).toString('base64')]),
    );
  const entries = async () => (await gatehouse('audit list --json')).json.entries.length;

  beforeAll(async () => {
    engine = await startStoreEngine(engineName);
    const directory = temporaryFolder();
    const MASTER_KEY_FILE = writeMasterKey(directory, randomBytes(32));
    environment = { STORE_URL: engine.storeUrl, MASTER_KEY_FILE, DATA_DIR: directory };
  });
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterAll(async () => {
    await engine.stop();
  });

  test('apply shows a diff, and prints the keys of new clients once', async () => {
    write('acme.json', { organizations: [{ id: 'acme', name: 'Acme' }] });
    const shop = { clientId: 'shop', name: 'Shop', orgId: 'acme', scopes: ['device:read'] };
    write('teams/shop.json', { clients: [shop] });
    write('.git/ignored.json', 'marker');
    const dry = await apply(' --dry-run');
    expect(dry).toMatchObject({ code: 3, output: expect.stringContaining('+ client shop\n') });
    expect(dry.output).toContain('    scopes: none → ["device:read"]\n');
    expect(dry.output).toContain('To add 2, change 0, remove 0.');
    expect((await gatehouse('clients list --json')).json.clients).toEqual([]);

    const first = await apply();
    expect(first.output).toMatch(/Applied 2 changes.\nSecure key of shop \(shown once\): \w{32}\n/);
    const count = await entries();
    const second = await apply(' --json');
    expect([second.code, second.json]).toEqual([0, { done: [], secureKeys: [], notDone: [] }]);
    expect(await apply(' --dry-run')).toMatchObject({
      ...{ code: 0, output: 'There is nothing to change.\n' },
    });
    expect(await entries()).toBe(count);

    write('teams/shop.json', { clients: [{ ...shop, name: 'Web shop' }] });
    expect((await apply(' --dry-run')).output).toContain('    name: "Shop" → "Web shop"');
    expect(await apply()).toMatchObject({ code: 0, errors: '' });
    const { client } = (await gatehouse('clients show shop --json')).json;
    expect([client.name, client.keys.length]).toEqual(['Web shop', 1]);
  });

  test('a change that ends tokens or removes something needs a confirmation', async () => {
    await gatehouse('clients add old --org acme');
    const shop = { clientId: 'shop', name: 'Web shop', orgId: 'acme', scopes: ['device:read'] };
    write('shop.json', { clients: [shop] });
    expect((await apply()).code).toBe(0);
    const refused = await apply(' --prune');
    expect([refused.code, refused.output]).toEqual([
      1,
      expect.stringContaining('- client old, ends 0 tokens\n'),
    ]);
    expect(refused.errors).toContain('Nothing was changed.');
    expect(refused.errors).toContain('This will remove client old (ends 0 tokens).');
    expect((await gatehouse('clients show old')).code).toBe(0);
    const typed = await gatehouse(`apply -f ${folder} --prune`, { typed: ['y'] });
    expect(typed).toMatchObject({ code: 0, output: expect.stringContaining('Applied 1 change.') });
    expect((await gatehouse('clients show old')).code).toBe(1);
    write('shop.json', { clients: [{ ...shop, enabled: false }] });
    expect((await apply()).code).toBe(1);
    expect(await apply(' --yes')).toMatchObject({ code: 0 });
    expect((await gatehouse('clients show shop --json')).json.client.enabled).toBe(false);
  });

  test('an export is stable, and applies to another installation without a difference', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1v1z"/></svg>';
    writeFileSync(join(folder, 'logo.svg'), svg);
    const scopes = { 'billing:read': { description: 'See invoices', roles: ['accountant'] } };
    write('settings.json', {
      resources: [{ resource: 'https://billing.example', name: 'Billing', scopes }],
      branding: { name: 'Acme', logo: 'logo.svg' },
    });
    write('odd.json', {
      clients: [
        { clientId: '.a/B', name: 'Odd', orgId: 'acme', scopes: ['billing:read'] },
        { clientId: '.A/B', name: 'Odder', orgId: 'acme' },
      ],
    });
    expect(await apply()).toMatchObject({ code: 0, errors: '' });

    const exported = join(temporaryFolder(), 'exported');
    expect(await gatehouse(`export ${exported}`)).toMatchObject({ code: 0, errors: '' });
    const files = filesOf(exported);
    expect(await gatehouse(`export ${exported}`)).toMatchObject({ code: 0 });
    expect(filesOf(exported)).toEqual(files);
    const odd = readFileSync(join(exported, 'clients/%2Ea%2FB.2.json'), 'utf8');
    expect(odd).toBe(
      `{\n  "clients": [\n    {\n      "clientId": ".a/B",\n      "name": "Odd",\n      "orgId": "acme",\n      "scopes": [\n        "billing:read"\n      ],\n      "defaultResource": "https://billing.example"\n    }\n  ]\n}\n`,
    );
    folder = exported;
    expect(await apply(' --prune --dry-run')).toMatchObject({ code: 0 });

    const other = await startStoreEngine(engineName);
    const own = environment;
    environment = { ...environment, STORE_URL: other.storeUrl };
    try {
      expect((await apply(' --dry-run')).code).toBe(3);
      expect((await apply(' --json')).json.secureKeys).toHaveLength(3);
      expect(await apply(' --prune --dry-run')).toMatchObject({ code: 0 });
      const again = join(temporaryFolder(), 'again');
      await gatehouse(`export ${again}`);
      expect(filesOf(again)).toEqual(files);
      await gatehouse('clients remove shop --yes');
      const refused = await gatehouse(`export ${again}`);
      expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('clients/shop') });
      expect(existsSync(join(again, 'clients/shop.json'))).toBe(true);
      const { json } = await gatehouse(`export ${again} --yes --json`);
      expect(json.deleted).toEqual(['clients/shop.json']);
      expect(existsSync(join(again, 'clients/shop.json'))).toBe(false);
    } finally {
      environment = own;
      await other.stop();
    }
  });

  test('reports all invalid files, and quotes no value', async () => {
    const client = { clientId: 'twice', name: 'Twice', orgId: 'acme' };
    write('a.json', { clients: [client] });
    write('b.json', { clients: [client], unknown: 'marker' });
    write('c.json', { clients: [{ ...client, secureKey: 'marker' }], users: [] });
    writeFileSync(join(folder, 'd.json'), '{ marker');
    const { code, errors, output } = await apply();
    expect([code, output]).toEqual([1, '']);
    expect(errors).toContain('c.json clients.0.secureKey: is not for this folder.');
    expect(errors).toContain('c.json users: is not for this folder.');
    expect(errors).toContain('d.json: names a file that is not valid JSON');
    expect(errors).not.toContain('marker');
    for (const file of ['b.json', 'c.json', 'd.json']) {
      rmSync(join(folder, file));
    }
    write('b.json', { clients: [client] });
    expect((await apply()).errors).toContain(
      'b.json: declares the client twice, which is also in a.json',
    );
    rmSync(folder, { recursive: true });
    expect(await apply()).toMatchObject({ code: 1 });
    expect(await gatehouse('apply')).toMatchObject({ code: 2 });
  });
});
