import { createHash } from 'node:crypto';
import { basic } from '@gatehouse/testing';
import { afterAll } from '@jest/globals';
import { createTier, type Tier, type TierOptions } from './tier.ts';

export const redirectUri = 'https://app.example/callback';

/** The users and clients of the tier, with the secrets that the operators' commands printed. */
export interface Users {
  /** A client with every grant that requires a secret. */
  readonly web: { readonly clientId: string; readonly secureKey: string };
  /** A browser application with the implicit grant. */
  readonly implicit: { readonly clientId: string };
  readonly alice: { readonly username: string; readonly password: string };
}

/**
 * Starts a tier with these users and a device, for the tests of the file that awaits it, and
 * returns calls to it.
 */
export async function startTierInUse(options: TierOptions = {}) {
  const tier = await createTier(options);
  try {
    await tier.up();
    const users = await registerUsers(tier);
    await createDevice(tier, users.web, 'pump-1');
    afterAll(() => tier.remove());
    return { tier, users, ...callsTo(tier, users) };
  } catch (error) {
    await tier.remove();
    throw error;
  }
}

function callsTo(tier: Tier, { web, alice }: Users) {
  const post = (path: string, parameters: Readonly<Record<string, string>>) =>
    fetch(`${tier.authorizationServerUrl}${path}`, {
      method: 'POST',
      headers: { authorization: basic(web.clientId, web.secureKey) },
      body: new URLSearchParams(parameters),
    });
  const token = (parameters: Readonly<Record<string, string>>) =>
    requestToken(tier, web, parameters);
  return {
    post,
    token,
    newToken: async () =>
      (await token({ grant_type: 'client_credentials' })).body.access_token ?? '',
    /** The tokens of alice. */
    signIn: () => token({ grant_type: 'password', ...alice }),
    refresh: (refreshToken = '') =>
      token({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    revoke: async (value: string) => (await post('/revoke', { token: value })).status,
    listWith: (accessToken = '') =>
      callGateway(tier, '/api/device', { headers: { authorization: `Bearer ${accessToken}` } }),
  };
}

/** Registers an organization, clients and a user with the operators' commands. */
export async function registerUsers(tier: Tier): Promise<Users> {
  await tier.gatehouse('organizations', 'add', 'acme');
  const scopes = ['device:read', 'device:write', 'device:log', 'device:report', 'openid'];
  const addClient = (clientId: string, grantTypes: readonly string[], ...options: string[]) =>
    tier.gatehouse(
      ...['clients', 'add', clientId, '--org', 'acme', '--redirect-uri', redirectUri],
      ...grantTypes.flatMap((grantType) => ['--grant-type', grantType]),
      ...options,
    );
  const web = await addClient(
    'web',
    [
      ...['authorization_code', 'password', 'client_credentials', 'refresh_token'],
      'urn:ietf:params:oauth:grant-type:device_code',
    ],
    '--first-party',
    ...scopes.flatMap((scope) => ['--scope', scope]),
  );
  await addClient('implicit', ['implicit'], '--public', '--scope', 'device:read');
  const user = await tier.gatehouse('users', 'add', 'alice', '--org', 'acme', '--generate');
  return {
    web: { clientId: 'web', secureKey: text(web, 'secureKey') },
    implicit: { clientId: 'implicit' },
    alice: { username: 'alice', password: text(user, 'password') },
  };
}

/** Finds a member by its name, at any depth, in the JSON that a command printed. */
function text(json: unknown, name: string): string {
  const found = new RegExp(`"${name}":"([^"]+)"`).exec(JSON.stringify(json))?.[1];
  if (found === undefined) {
    throw new Error(`The command printed no ${name}.`);
  }
  return found;
}

export async function requestToken(
  tier: Tier,
  client: Users['web'],
  parameters: Readonly<Record<string, string>>,
) {
  const reply = await fetch(`${tier.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic(client.clientId, client.secureKey) },
    body: new URLSearchParams(parameters),
  });
  return { status: reply.status, body: (await reply.json()) as Readonly<Record<string, string>> };
}

/**
 * The headers of a signed request (docs/signing.md): the digest of query or body, time and
 * secureKey.
 */
export function sign({ clientId, secureKey }: Users['web'], signedText: string) {
  const timestamp = String(Date.now());
  const signature = createHash('sha256')
    .update(signedText + timestamp + secureKey)
    .digest('hex');
  return { 'X-Client-Id': clientId, 'X-Timestamp': timestamp, 'X-Sign': signature };
}

export async function callGateway(tier: Tier, path: string, init: RequestInit = {}) {
  const reply = await fetch(`${tier.gatewayUrl}${path}`, init);
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
}

export function createDevice(tier: Tier, client: Users['web'], id: string) {
  const body = JSON.stringify({ id, name: id, productId: 'pump', productName: 'Pump' });
  return callGateway(tier, '/device-instance', {
    method: 'POST',
    headers: { ...sign(client, body), 'Content-Type': 'application/json' },
    body,
  });
}
