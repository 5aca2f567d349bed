import { createHash } from 'node:crypto';
import { basic } from '@gatehouse/testing';
import type { Tier } from './tier.ts';

export const redirectUri = 'https://app.example/callback';
export const alice = { username: 'alice' } as const;

/** The users and clients of the tier, with the secrets that the operators' commands printed. */
export interface Users {
  /** A client with every grant that requires a secret. */
  readonly web: { readonly clientId: string; readonly secureKey: string };
  /** A browser application with the implicit grant. */
  readonly implicit: { readonly clientId: string };
  readonly alice: { readonly username: string; readonly password: string };
}

/** Registers an organization, clients and a user with the operators' commands. */
export async function registerUsers(tier: Tier): Promise<Users> {
  await tier.gatehouse('organizations', 'add', 'acme');
  const scopes = ['device:read', 'device:write', 'device:log', 'device:report', 'openid'];
  const web = await addClient(
    tier,
    'web',
    [
      'authorization_code',
      'password',
      'client_credentials',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
    ],
    ['--first-party', ...scopes.flatMap((scope) => ['--scope', scope])],
  );
  await addClient(tier, 'implicit', ['implicit'], ['--public', '--scope', 'device:read']);
  const user = await tier.gatehouse('users', 'add', alice.username, '--org', 'acme', '--generate');
  return {
    web: { clientId: 'web', secureKey: text(web, 'secureKey') },
    implicit: { clientId: 'implicit' },
    alice: { ...alice, password: text(user, 'password') },
  };
}

function addClient(
  tier: Tier,
  clientId: string,
  grantTypes: readonly string[],
  options: readonly string[],
): Promise<unknown> {
  return tier.gatehouse(
    'clients',
    'add',
    clientId,
    '--org',
    'acme',
    '--redirect-uri',
    redirectUri,
    ...grantTypes.flatMap((grantType) => ['--grant-type', grantType]),
    ...options,
  );
}

/** Finds a member by its name, at any depth, in the JSON that a command printed. */
function text(json: unknown, name: string): string {
  const found = new RegExp(`"${name}":"([^"]+)"`).exec(JSON.stringify(json))?.[1];
  if (found === undefined) {
    throw new Error(`The command printed no ${name}.`);
  }
  return found;
}

export interface TokenReply {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
}

export async function requestToken(
  tier: Tier,
  client: Users['web'],
  parameters: Readonly<Record<string, string>>,
): Promise<TokenReply> {
  const reply = await fetch(`${tier.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic(client.clientId, client.secureKey) },
    body: new URLSearchParams(parameters),
  });
  return { status: reply.status, body: (await reply.json()) as Record<string, string> };
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

export async function callGateway(
  tier: Tier,
  path: string,
  init: RequestInit = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
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
