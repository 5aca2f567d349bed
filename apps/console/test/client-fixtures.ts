/** Clients of every kind, with uses and tokens, for the tests of their screens. */
import { clientSchema, openIdentity } from '@gatehouse/identity';
import type { Console } from './in-process-console.ts';
import { hostile } from './installation.ts';

const DAY = 24 * 60 * 60 * 1000;
const key = (name: string) => `${name}Key0123456789abcdefghij`;

/** As fields of stored records that strangers can choose. */
export const odd = '<script>alert(1)</script>';

const { secureKey: _key, ...common } = clientSchema.parse({
  ...{ clientId: 'common', name: 'Common', orgId: 'org-1', secureKey: key('common') },
  scopes: ['device:read', 'device:write'],
});

export async function addClients(gatehouse: Console) {
  const { identity, issuer } = gatehouse;
  const { clients, lastUse, timeSeries, requestLog } = identity;
  await clients.save(
    {
      ...common,
      ...{ clientId: 'shop', name: 'Web shop', scopes: ['openid', 'profile', 'device:read'] },
      ...{ grantTypes: ['authorization_code', 'refresh_token', 'password'] },
      redirectUris: ['https://shop.example/callback', 'https://shop.example'],
    },
    key('shop'),
  );
  await clients.save(
    { ...common, clientId: 'legacy', name: 'Legacy poller', signatureAlgorithm: 'MD5' },
    key('legacy'),
  );
  await clients.rotateKey('legacy', { replaceOldest: false });
  await clients.save({
    ...common,
    ...{ clientId: 'phone', name: 'Phone', public: true, applicationType: 'native' },
    ...{ grantTypes: ['authorization_code', 'refresh_token'] },
    redirectUris: ['http://127.0.0.1/callback'],
  });
  await clients.save({ ...common, clientId: odd, name: hostile, ipAllowList: [] }, key('odd'));
  await clients.save(
    { ...common, clientId: 'idle', name: 'Idle', scopes: [], enabled: false },
    key('idle'),
  );

  const legacy = await clients.find('legacy');
  const [newKey = '', oldKey = ''] = legacy ? clients.keyIds(legacy) : [];
  lastUse.noteClient('legacy', oldKey);
  lastUse.noteClient('legacy', newKey);
  lastUse.notePractice('legacy', 'MD5', oldKey);
  lastUse.notePractice('legacy', 'HMAC-SHA-256', newKey);
  lastUse.notePractice('legacy', 'query_token');
  await timeSeries.add('gateway', {
    clients: new Map([['legacy', 1284]]),
    failingClients: new Map([['legacy', 37]]),
  });
  const entry = {
    app: 'gateway',
    verified: true,
    aborted: false,
    durationMs: 3,
    addressGroup: '203.0.113.7',
  };
  requestLog.record({
    ...entry,
    ...{ at: Date.now(), requestId: 'request-0001', operation: 'device.list', method: 'GET' },
    ...{ clientId: 'legacy', credential: 'signature', keyId: oldKey, status: 401 },
    ...{ code: 'invalid_signature', reason: 'signature_mismatch', userAgent: odd },
  });
  await requestLog.flush();
  await addOld(gatehouse);
  return { newKey, oldKey, token: (clientId = 'fleet') => tokenOf(issuer, clientId) };
}

/** A client with two keys. The old one was last used two days ago. */
async function addOld({ store, masterKey }: Console): Promise<void> {
  let days = 40;
  const identity = openIdentity({ store, masterKey, now: () => Date.now() - days * DAY });
  await identity.clients.save({ ...common, clientId: 'old', name: 'Old timer' }, key('old'));
  days = 2;
  const { client, keyId } = await identity.clients.rotateKey('old', { replaceOldest: false });
  for (const each of identity.clients.keyIds(client)) {
    days = each === keyId ? 0 : 2;
    identity.lastUse.noteClient('old', each);
  }
}

/** A real access token of a machine. */
async function tokenOf(issuer: string, clientId: string): Promise<string> {
  const secureKey = clientId === 'fleet' ? 'fleetKey0123456789abcdef' : key(clientId);
  const reply = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${secureKey}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token } = (await reply.json()) as { readonly access_token: string };
  return token;
}
