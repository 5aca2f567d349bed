// requires: redis-server
/** The records of clients that metadata documents describe: how long they last, and who may change them. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { documentHost, noSettings, type Settings } from '../src/index.ts';
import { describeOnBothEngines, newClient } from './on-both-engines.ts';

const HOUR = 60 * 60;

describeOnBothEngines('the record of a metadata document', ({ openIdentity }) => {
  const newDocument = () => {
    const clientId = `https://agent.example/${randomUUID()}`;
    return newClient({ clientId, orgId: '', public: true, grantTypes: ['authorization_code'] });
  };
  const inHours = (hours: number) => Math.floor(Date.now() / 1000) + hours * HOUR;

  test('is found while its host is accepted, and is not in the list of clients', async () => {
    const { clients, settings } = openIdentity();
    const described = newDocument();
    const { clientId } = described;
    await clients.rememberDocument(clientId, inHours(1), described);
    await settings.apply({ clientIdMetadata: { hosts: [] } });
    expect(await openIdentity().clients.find(clientId)).toBeUndefined();
    await settings.apply({ clientIdMetadata: { hosts: ['agent.example'] } });
    const other = openIdentity().clients;
    expect(await other.find(clientId)).toMatchObject({ clientId, public: true, enabled: true });
    const idsOf = (list: readonly { readonly clientId: string }[]) =>
      list.map((each) => each.clientId);
    expect(idsOf(await other.listDocuments())).toContain(clientId);
    expect(idsOf(await other.list())).not.toContain(clientId);
  });

  test('is extended, never shortened, and stays if an operator changes it', async () => {
    const { clients } = openIdentity();
    const described = newDocument();
    const { clientId } = described;
    await expect(clients.rememberDocument(clientId, inHours(1))).rejects.toThrow('No metadata');
    const expiries = [inHours(2), inHours(1), inHours(3)];
    const kept = [];
    for (const expiresAt of expiries) {
      const { document } = await clients.rememberDocument(clientId, expiresAt, described);
      kept.push(document?.expiresAt);
    }
    expect(kept).toEqual([expiries[0], expiries[0], expiries[2]]);
    await clients.update(clientId, (client) => ({ ...client, enabled: false }));
    const after = await clients.rememberDocument(clientId, inHours(9), { ...described, name: 'B' });
    expect([after.document, after.enabled, after.name]).toEqual([{}, false, 'B']);
  });

  test('never replaces a registered client', async () => {
    const { clients } = openIdentity();
    const described = newDocument();
    await clients.save({ ...described, orgId: 'org-1' });
    await expect(
      clients.rememberDocument(described.clientId, inHours(1), described),
    ).rejects.toThrow('No metadata document describes');
  });
});

test.each([
  ['https://agent.example/a', true],
  ['https://other.example/a', false],
  ['https://agent.example', undefined],
  ['https://agent.example:8443/a', undefined],
  ['https://a@agent.example/a', undefined],
  ['http://agent.example/a', undefined],
  ['agent.example/a', undefined],
])('%s is the address of a document on a listed host: %s', (clientId, isListed) => {
  const clientIdMetadata = { hosts: ['*', 'agent.example'], scopes: [] };
  const settings: Settings = { ...noSettings, clientIdMetadata };
  expect(documentHost(clientId, settings)?.isListed).toBe(isListed);
});
