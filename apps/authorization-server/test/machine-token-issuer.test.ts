import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  accessTokenKey,
  applyBootstrap,
  bootstrapDefinition,
  openIdentity,
} from '@gatehouse/identity';
import { createStore, StoreUnavailableError } from '@gatehouse/store';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openProvider } from '../src/app.ts';
import { createBrowserState } from '../src/provider/browser-state.ts';
import { createFailedSecrets } from '../src/throttle/failed-secrets.ts';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import { createTokenBudgets } from '../src/throttle/stored-budgets.ts';
import {
  createMachineTokenIssuer,
  type PlainTokenRequest,
} from '../src/token/machine-token-fast-path.ts';
import { bootstrap, browserApp, web } from './fixtures.ts';

const ADDRESS = '192.0.2.1';
const directory = await mkdtemp(join(tmpdir(), 'gatehouse-issuer-'));
const store = createStore(`sqlite:${join(directory, 'store.sqlite')}`);
const masterKey = randomBytes(32);
const identity = openIdentity({ store, masterKey });
const failedSecrets = createFailedSecrets({ ...identity });
const tokenBudgets = createTokenBudgets(identity);

async function createIssuer() {
  const bootstrapFile = join(directory, 'bootstrap.json');
  await writeFile(bootstrapFile, JSON.stringify({ ...bootstrap, users: [] }));
  const issuer = 'http://localhost';
  const source = { bootstrapFile, dataDirectory: directory, embedded: true, publicUrl: issuer };
  const definition = bootstrapDefinition(source);
  if (definition !== undefined) {
    await applyBootstrap(definition, identity);
  }
  const securityProfile = 'compatible';
  const provider = await openProvider({
    issuer,
    identity,
    masterKey,
    cookieKeys: ['a key'],
    securityProfile,
    browserState: createBrowserState(masterKey, false),
    signIn: async () => undefined,
    failedSecrets,
    tokenBudgets,
  });
  const dependencies = { identity, failedSecrets, tokenBudgets, securityProfile } as const;
  return { provider, issue: createMachineTokenIssuer(provider, dependencies) };
}

const { provider, issue } = await createIssuer();
const request = (
  change: Partial<Omit<PlainTokenRequest, 'credential'>> = {},
): Omit<PlainTokenRequest, 'credential'> => ({
  clientId: web.clientId,
  clientSecret: web.secureKey,
  scope: 'device:read',
  ...change,
});

afterAll(async () => {
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

describe('the fast path of client_credentials', () => {
  test('issues a token of the client, with the requested scope', async () => {
    const reply = await issue(request(), ADDRESS);
    expect(reply).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 7200,
      scope: 'device:read',
    });
    expect(await identity.verifyAccessToken(reply?.access_token ?? '')).toMatchObject({
      clientId: web.clientId,
      scopes: new Set(['device:read']),
    });
  });

  test('writes the record that the provider writes', async () => {
    const recordOf = async (value: string) => {
      const text = await store.get(accessTokenKey(identity.credentialHash(value)));
      return JSON.parse(text ?? '') as Record<string, unknown>;
    };
    const record = await recordOf((await issue(request(), ADDRESS))?.access_token ?? '');
    const client = await provider.Client.find(web.clientId);
    if (client === undefined) {
      throw new Error('The client is missing.');
    }
    const token = new provider.ClientCredentials({ client, scope: 'device:read' });
    const { secureKeyId } = record;
    const written = await recordOf(await Object.assign(token, { secureKeyId }).save());
    const { iat, exp } = written;
    expect(record).toEqual({ ...written, iat: expect.any(Number), exp: expect.any(Number) });
    expect(Number(record.exp) - Number(record.iat)).toBe(Number(exp) - Number(iat));
    expect(secureKeyId).toBe(identity.clients.secureKeyId(web.secureKey));
  });

  test.each<[string, Partial<Omit<PlainTokenRequest, 'credential'>>]>([
    ['of an unknown client', { clientId: 'nobody' }],
    ['of a disabled client', { clientId: 'disabled', clientSecret: 'disabledKey0123456789' }],
    ['with a wrong secret', { clientSecret: `${web.secureKey}x` }],
    ['of a public client', { clientId: browserApp.clientId }],
    ['without the grant', { clientId: 'scopeless', clientSecret: 'scopelessKey0123456789' }],
    ['for a scope that is not allowed', { scope: 'device:fly' }],
  ])('leaves a request %s to the provider', async (_case, change) => {
    expect(await issue(request(change), ADDRESS)).toBeUndefined();
  });

  test('issues nothing at an address that guessed too often, and counts no guess itself', async () => {
    const address = '192.0.2.2';
    for (let guess = 0; guess < failedSecretLimit.attempts + 1; guess += 1) {
      await issue(request({ clientSecret: `guess ${guess}` }), address);
    }
    expect(await issue(request(), address)).toBeDefined();
    for (let guess = 0; guess < failedSecretLimit.attempts; guess += 1) {
      await failedSecrets.record(web.clientId, address);
    }
    expect(await issue(request(), address)).toBeUndefined();
    expect(await issue(request(), ADDRESS)).toBeDefined();
  });

  test('fails if the store is unavailable', async () => {
    await store.close();
    await expect(issue(request(), ADDRESS)).rejects.toThrow(StoreUnavailableError);
  });
});
