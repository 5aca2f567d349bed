/** gatehouse apply and export over the management API, and the same over the store. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStore } from '@gatehouse/store';
import { startOnEachEngine, temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const machine = (clientId: string, scopes: readonly string[]) => ({
  ...{ clientId, name: clientId, secureKey: `${clientId}Key0123456789abcdef`, scopes },
  ...{ orgId: 'operations', grantTypes: ['client_credentials'] },
});
const systems = await startOnEachEngine({
  apps: ['authorization-server', 'console'],
  bootstrap: {
    organizations: [{ id: 'operations', name: 'Operations' }],
    clients: [
      machine('team', ['operator:read', 'operator:write']),
      machine('viewer', ['operator:read']),
      machine('device', ['device:read']),
    ],
  },
});

describe.each(systems)('over the management API on $engine', ({ system }) => {
  const folder = temporaryFolder();
  const write = (file: string, content: unknown) =>
    writeFileSync(join(folder, file), JSON.stringify(content));
  const filesOf = (path: string) =>
    Object.fromEntries(
      readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.\w+$/.test(file))
        .map((file) => [file, readFileSync(join(path, file), 'utf8')]),
    );
  const overStore = (args: string) => runGatehouse(system.commandEnvironment, args.split(' '));
  /** Without the store and its master key. */
  const overApi = (args: string, clientId = 'team', key = `${clientId}Key0123456789abcdef`) =>
    runGatehouse(
      { AUTHORIZATION_SERVER_URL: system.authorizationServerUrl },
      [...args.split(' '), '--api', system.consoleUrl, '--client', clientId],
      key,
    );

  test('shows the same diff, applies once, and exports the same files', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1v1z"/></svg>';
    writeFileSync(join(folder, 'logo.svg'), svg);
    write('acme.json', {
      organizations: [{ id: 'acme', name: 'Acme' }],
      clients: [{ clientId: 'shop', name: 'Shop', orgId: 'acme', scopes: ['device:read'] }],
      branding: { name: 'Acme', logo: 'logo.svg' },
      lifetimes: { code: 60 },
    });
    const dry = await overApi(`apply -f ${folder} --dry-run`, 'viewer');
    expect(dry).toEqual(await overStore(`apply -f ${folder} --dry-run`));
    expect(dry).toMatchObject({ code: 3, output: expect.stringContaining('+ client shop\n') });

    const refused = await overApi(`apply -f ${folder}`, 'viewer');
    expect([refused.code, refused.errors]).toEqual([
      1,
      expect.stringContaining('The operation needs the scope operator:write'),
    ]);
    const applied = await overApi(`apply -f ${folder}`);
    expect(applied).toMatchObject({ code: 0, errors: '' });
    expect(applied.output).toMatch(
      /Applied 3 changes.\nSecure key of shop \(shown once\): \w{32}\n$/,
    );
    const again = await overApi(`apply -f ${folder} --json`);
    expect([again.code, again.json]).toEqual([0, { done: [], secureKeys: [], notDone: [] }]);
    expect(again).toEqual(await overStore(`apply -f ${folder} --json`));
    const { entries } = (await overStore('audit list --json')).json;
    expect(entries).toContainEqual(
      expect.objectContaining({ clientId: 'shop', change: 'added', operator: 'team' }),
    );

    const [ofApi, ofStore] = [join(folder, '.api'), join(folder, '.store')];
    expect(await overApi(`export ${ofApi}`, 'viewer')).toMatchObject({ code: 0, errors: '' });
    expect(await overStore(`export ${ofStore}`)).toMatchObject({ code: 0 });
    expect(filesOf(ofApi)).toEqual(filesOf(ofStore));
    expect(Object.values(filesOf(ofApi))).toContain(svg);
    expect((await overApi(`apply -f ${ofApi} --prune --dry-run`)).code).toBe(0);
  });

  test('asks before it ends something, and reports what was done before a failure', async () => {
    const other = temporaryFolder();
    const declare = (clients: readonly object[]) =>
      writeFileSync(join(other, 'clients.json'), JSON.stringify({ clients }));
    const named = (clientId: string) => ({ clientId, name: clientId, orgId: 'operations' });
    const store = createStore(system.storeUrl);
    await store.set('client:b-damaged', 'damaged');
    await store.close();
    declare(['a-first', 'b-damaged', 'c-last'].map(named));
    const failed = await overApi(`apply -f ${other}`);
    expect([failed.code, failed.output]).toEqual([
      1,
      expect.stringMatching(
        /Done: add client a-first.\nNot done: add client b-damaged, add client c-last.\nSecure key of a-first \(shown once\): \w{32}\n/,
      ),
    ]);
    expect(failed.errors).toMatch(/^An unexpected error occurred. Request id: [\w-]+\.\n$/);
    const again = await overStore(`apply -f ${other} --json`);
    expect([again.code, again.json]).toMatchObject([
      1,
      { done: [], secureKeys: [], notDone: [{ id: 'b-damaged' }, { id: 'c-last' }] },
    ]);
    expect(again.errors).toContain('b-damaged in the store is damaged');
    declare([{ ...named('a-first'), enabled: false }]);
    const asked = await overApi(`apply -f ${other}`);
    expect(asked).toEqual(await overStore(`apply -f ${other}`));
    expect([asked.code, asked.errors]).toEqual([1, expect.stringContaining('ends 0 tokens')]);
    expect((await overApi(`apply -f ${other} --yes`)).code).toBe(0);
    const unknown = [{ ...named('lost'), orgId: 'none' }];
    declare(unknown);
    expect(await overApi(`apply -f ${other}`)).toEqual(await overStore(`apply -f ${other}`));
  });

  test('reports which credential is missing or wrong', async () => {
    const wrong = await overApi(`export ${folder}`, 'team', 'wrongKey0123456789abcdef');
    expect([wrong.code, wrong.errors]).toEqual([
      1,
      'The authorization server rejected the client. Check --client, --key-file and AUTHORIZATION_SERVER_URL.\n',
    ]);
    const other = await overApi(`export ${folder}`, 'device');
    expect([other.code, other.errors]).toEqual([
      1,
      expect.stringContaining('The access token is for another API.'),
    ]);
    const unnamed = await runGatehouse({}, ['export', folder, '--api', system.consoleUrl], 'key');
    expect(unnamed).toMatchObject({ code: 2, errors: expect.stringContaining('--client ID') });
    const remote = await runGatehouse({}, ['export', folder, '--api', 'http://console.example']);
    expect(remote).toMatchObject({ code: 2, errors: expect.stringContaining('https address') });
  });
});
