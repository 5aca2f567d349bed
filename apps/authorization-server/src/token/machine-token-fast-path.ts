/**
 * The fast path of client_credentials at /token, which machines call thousands of times a second:
 *
 *   limits ─▶ plain request? ─▶ issue ─▶ 200
 *                   └ no ─────────┴ rejected ─▶ transport rules, provider: the unchanged request
 *
 * It replies only with 200, or with 503 when the store is unavailable. The provider writes, audits
 * and counts every rejection. The same registry, limits and rules decide here, and the record is
 * the one that the provider writes, so this path accepts nothing that the provider would reject.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  accessTokenKey,
  type Client,
  clientRecordsKey,
  type Identity,
  isDeviceScope,
  lifetimesOf,
} from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { errors, type Provider } from 'oidc-provider';
import type { SecurityProfile } from '../provider/clients.ts';
import { addressGroupOf, requestOrigin } from '../requests/caller.ts';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import type { TokenBudgets } from '../throttle/stored-budgets.ts';
import { machineScope } from './grants.ts';
import { replyHeaders } from './replies.ts';
import { peekBody } from './transport.ts';

export function serveMachineTokens(
  issue: MachineTokenIssuer,
  { audit }: Pick<Identity, 'audit'>,
): RequestHandler {
  return async (request, response, next) => {
    const body = mayBePlain(request) ? await peekBody(request, MAXIMUM_PLAIN_BYTES) : undefined;
    const plain =
      body && readPlainTokenRequest(request.headers.authorization, body.toString('latin1'));
    const reply = plain && (await issue(plain, addressGroupOf(request)));
    if (plain === undefined || reply === undefined) {
      next();
      return;
    }
    // Discards the body, which the provider does not read.
    request.resume();
    const { clientId, credential } = plain;
    Object.assign(observedRequest(request).notes, { clientId, credential, verified: true });
    audit.record(
      { event: 'token_issued', grant: 'client_credentials', clientId, scope: reply.scope },
      requestOrigin(request),
    );
    const text = JSON.stringify(reply);
    response.writeHead(200, {
      ...replyHeaders,
      Vary: 'Origin',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
  };
}

/** A machine's token request in a form that every parser reads alike. */
export type PlainTokenRequest = NonNullable<ReturnType<typeof readPlainTokenRequest>>;

const MAXIMUM_PLAIN_BYTES = 2048;
const FORM_TYPE = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i;

/** Whether the transport rules accept the request, and nothing but its body is left to read. */
function mayBePlain({ method, url, headers, headersDistinct }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    url?.includes('?') === false &&
    FORM_TYPE.test(headers['content-type'] ?? '') &&
    Number(headers['content-length'] ?? Infinity) <= MAXIMUM_PLAIN_BYTES &&
    headers['content-encoding'] === undefined &&
    // Node would drop a second one silently.
    (headersDistinct.authorization?.length ?? 0) <= 1 &&
    // Only the provider handles CORS and attestations.
    headers.origin === undefined &&
    headers['oauth-client-attestation'] === undefined &&
    headers['oauth-client-attestation-pop'] === undefined
  );
}

/** Characters that no decoder changes. Parsers differ in their treatment of percent and plus. */
const PLAIN = /^[\w.~-]+$/;
const PLAIN_SCOPE = /^(?:[\w.~:+-]|%20|%3A)+$/i;
const BASIC = /^Basic ((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/i;
const members = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);

/**
 * The request, or undefined for every other request: a parameter that is repeated, empty or
 * unknown, credentials in two places, an encoded character. Undefined does not mean that the
 * request is invalid.
 */
export function readPlainTokenRequest(authorization: string | undefined, body: string) {
  const form = new Map<string, string>();
  for (const pair of body.split('&')) {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, equals);
    if (equals < 0 || !members.has(name) || form.has(name)) {
      return undefined;
    }
    form.set(name, pair.slice(equals + 1));
  }
  const scope = form.get('scope');
  const isPlain = scope === undefined || PLAIN_SCOPE.test(scope);
  const credentials = readCredentials(authorization, form);
  return credentials && isPlain && form.get('grant_type') === 'client_credentials'
    ? { ...credentials, scope: scope && decodeURIComponent(scope.replaceAll('+', ' ')) }
    : undefined;
}

/**
 * The credentials from HTTP Basic or from the body, not both. With Basic, an id in the body must be
 * the same.
 */
function readCredentials(authorization: string | undefined, form: ReadonlyMap<string, string>) {
  const credential = authorization === undefined ? 'body' : 'basic';
  let clientId = form.get('client_id');
  let clientSecret = form.get('client_secret');
  if (authorization !== undefined) {
    const [, encoded = ''] = BASIC.exec(authorization) ?? [];
    const text = Buffer.from(encoded, 'base64').toString('latin1');
    const colon = text.indexOf(':');
    const basicId = text.slice(0, Math.max(colon, 0));
    if (clientSecret !== undefined || (clientId !== undefined && clientId !== basicId)) {
      return undefined;
    }
    clientId = basicId;
    clientSecret = text.slice(colon + 1);
  }
  return clientId !== undefined &&
    clientSecret !== undefined &&
    PLAIN.test(clientId) &&
    PLAIN.test(clientSecret)
    ? ({ clientId, clientSecret, credential } as const)
    : undefined;
}

type MachineTokenIssuer = ReturnType<typeof createMachineTokenIssuer>;

/**
 * @returns the issuer. It resolves to the reply to a valid client_credentials request, and to
 * undefined for every other request: nothing was issued, counted or written, and the provider still
 * has to reply. It throws StoreUnavailableError
 */
export function createMachineTokenIssuer(
  provider: Provider,
  dependencies: {
    readonly identity: Identity;
    readonly failedSecrets: Pick<FailedSecrets, 'mayTry'>;
    readonly tokenBudgets: TokenBudgets;
    readonly securityProfile: SecurityProfile;
  },
) {
  const { identity, failedSecrets, tokenBudgets, securityProfile } = dependencies;
  const { store, clients, credentialHash, findLiveHolder } = identity;
  /** The scope of a request without one, of each client record that the library accepted. */
  const defaultScopes = new WeakMap<Client, string>();

  async function resolveMachineScope(client: Client, requested: string | undefined) {
    const resolve = (scope?: string) =>
      machineScope(client.scopes.filter(isDeviceScope), scope, securityProfile);
    try {
      if (!defaultScopes.has(client) && (await provider.Client.find(client.clientId))) {
        defaultScopes.set(client, resolve());
      }
      return defaultScopes.has(client) ? resolve(requested) : undefined;
    } catch (error) {
      if (error instanceof errors.OIDCProviderError) {
        return undefined;
      }
      throw error;
    }
  }

  return async (
    { clientId, clientSecret, scope: requested }: Omit<PlainTokenRequest, 'credential'>,
    address: string,
  ) => {
    if (!(await failedSecrets.mayTry(clientId, address))) {
      return undefined;
    }
    const client = await clients.find(clientId);
    const secureKeyId = clients.identifySecret(client, clientSecret);
    const isGranted = client?.grantTypes.includes('client_credentials') && !client.public;
    // The library issues tokens for other resources.
    const isOther = client?.defaultResource !== undefined;
    if (client === undefined || secureKeyId === undefined || !isGranted || isOther) {
      return undefined;
    }
    const known = requested === undefined ? defaultScopes.get(client) : undefined;
    const scope = known ?? (await resolveMachineScope(client, requested));
    const issuedAt = Math.floor(Date.now() / 1000);
    if (
      scope === undefined ||
      // A revocation is taking effect.
      (await findLiveHolder({ issuedAt, clientId })) === undefined ||
      (await tokenBudgets.machineTokens.take(client)) !== undefined
    ) {
      return undefined;
    }
    const { lifetimes: installation } = await identity.settings.read();
    const { accessToken: expires_in } = lifetimesOf(installation, client.lifetimes);
    const access_token = randomBytes(32).toString('base64url');
    const key = accessTokenKey(credentialHash(access_token));
    const exp = issuedAt + expires_in;
    const record = { iat: issuedAt, exp, clientId, kind: 'ClientCredentials', scope, secureKeyId };
    await Promise.all([
      store.addToIndex(clientRecordsKey(clientId, key), key, exp * 1000),
      store.set(key, JSON.stringify(record), expires_in),
    ]);
    return { access_token, token_type: 'Bearer', expires_in, scope };
  };
}
