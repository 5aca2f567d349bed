/**
 * What Gatehouse changes in the clients of the library: who may do what, which secure key a token
 * belongs to, and the limit of failed secrets.
 */
import {
  grantFacts,
  type Identity,
  isAcrEnough,
  isScopeForRoles,
  type Client as RegisteredClient,
  type StoredAccessToken,
} from '@gatehouse/identity';
import { type Client, errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { addressGroupOf } from '../requests/caller.ts';
import { contextOf } from '../requests/request-context.ts';
import { clientEndpointPaths } from '../requests/routes.ts';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import type { ClientKeySets } from './client-key-sets.ts';
import type { SecurityProfile } from './clients.ts';
import { currentContext, currentRequest, type ProviderMiddleware } from './library.ts';
import type { MetadataDocuments } from './metadata-documents.ts';
import { addOmittedRedirectUri, settleScope } from './request-parameters.ts';

/**
 * A response type or grant type that a client is not registered for is unauthorized_client (RFC
 * 6749 §4.1.2.1, §5.2). The library reports invalid_request. The platform endpoint supports fewer
 * grant types than /token. No documented setting makes the library ignore scopes that the client is
 * not registered for, or gives a request without a scope the registered ones. Both methods run after
 * the client is known and before the library checks the scope.
 */
export function checkPermissions(provider: Provider, profile: SecurityProfile): void {
  const client = provider.Client.prototype;
  const { responseTypeAllowed, grantTypeAllowed } = client;

  client.responseTypeAllowed = function responseTypeAllowedOrThrow(type) {
    if (!responseTypeAllowed.call(this, type)) {
      throw new errors.UnauthorizedClient('this client may not use the response_type');
    }
    const context = currentContext();
    if (context !== undefined) {
      settleScope(context, profile);
    }
    return true;
  };

  // The library also calls this method to decide which tokens to issue. Only the grant type that
  // a token request names is rejected.
  client.grantTypeAllowed = function grantTypeAllowedOrThrow(type) {
    const allowed = grantTypeAllowed.call(this, type);
    const context = currentContext();
    const route = context?.oidc.route;
    if (context !== undefined && route === 'token' && context.oidc.params?.grant_type === type) {
      if (contextOf(context.req).isPlatform && !grantFacts(type).isOfPlatform) {
        throw new errors.UnsupportedGrantType();
      }
      if (!allowed) {
        throw new errors.UnauthorizedClient('this client may not use the grant_type');
      }
      if (profile === 'compatible') {
        addOmittedRedirectUri(context);
      }
      settleScope(context, profile);
    } else if (context !== undefined && allowed && route === 'device_authorization') {
      settleScope(context, profile);
    }
    return allowed;
  };
}

/** A token with the members that it gets in addition to those of the library. */
export type StoredToken = { readonly aud?: unknown } & {
  -readonly [Name in Exclude<keyof StoredAccessToken, 'aud'>]?: StoredAccessToken[Name] | undefined;
};

/** From the credential that the request redeems, or from the session of the implicit grant. */
function signInOf({ oidc }: KoaContextWithOIDC): Pick<StoredToken, 'authTime' | 'acr' | 'amr'> {
  const { AuthorizationCode, RefreshToken, DeviceCode } = oidc.entities;
  const source: StoredToken | undefined = AuthorizationCode ?? RefreshToken ?? DeviceCode;
  const { session } = oidc;
  return (
    source ?? (session && { authTime: session.authTime(), acr: oidc.acr, amr: oidc.amr }) ?? {}
  );
}

export const tokenModels = ['AccessToken', 'ClientCredentials', 'RefreshToken'] as const;

/**
 * Removing a secure key revokes the tokens that were issued with it
 * (docs/decisions/17-secure-keys.md), so every token that a request saves gets the id of the key
 * that the client proved. The library knows one plaintext secret for a client, pads it with NUL when
 * it compares, and stores no custom member in refresh tokens.
 */
export function storeSecureKeys(provider: Provider, identity: Identity): void {
  const { clients } = identity;
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(actual) {
    const secureKeyId = clients.identifySecret(await clients.find(this.clientId), actual);
    currentRequest().secureKeyId = secureKeyId;
    return secureKeyId !== undefined;
  };

  for (const name of tokenModels) {
    const model = provider[name] as object as { readonly IN_PAYLOAD: readonly string[] };
    const added = ['secureKeyId', 'authTime', 'acr', 'amr'];
    Object.defineProperty(model, 'IN_PAYLOAD', {
      value: [...new Set([...model.IN_PAYLOAD, ...added])],
    });
    const prototype: StoredToken & { save(...lifetime: unknown[]): Promise<string> } =
      provider[name].prototype;
    const { save } = prototype;
    prototype.save = async function saveWithKey(...lifetime) {
      const context = currentContext();
      this.secureKeyId ??= currentRequest().secureKeyId;
      if (name === 'AccessToken' && context !== undefined) {
        const { authTime, acr, amr } = signInOf(context);
        this.authTime ??= authTime;
        this.acr ??= acr;
        this.amr ??= amr;
        await limitToRoles(this, identity);
      }
      return save.apply(this, lifetime);
    };
  }
}

/**
 * The user may have lost a role since the consent, or signed in with one factor since. The reply
 * states the scopes of the saved token.
 */
async function limitToRoles(token: StoredToken, { users, settings }: Identity): Promise<void> {
  const { accountId, aud, scope, acr } = token;
  if (accountId !== undefined && aud !== undefined && scope !== undefined) {
    const { roles = [] } = (await users.find(accountId)) ?? {};
    const declared = await settings.read();
    const isStrong = isAcrEnough(acr, String(aud), declared);
    const isAllowed = (each: string) => isStrong && isScopeForRoles(each, roles, declared);
    token.scope = scope.split(' ').filter(isAllowed).join(' ');
  }
}

export interface LookupDependencies {
  readonly identity: Identity;
  readonly failedSecrets: Pick<FailedSecrets, 'assertMayTry'>;
  readonly documents: Pick<MetadataDocuments, 'read'>;
  readonly keySets: ClientKeySets;
}

/**
 * The limit of failed secrets must apply before a client is looked up, so that known and unknown
 * clients get the same reply. The library also describes and hashes a client at every lookup to find
 * the object that it built before; remembering it by registry record costs one map access.
 */
export function limitLookups(
  provider: Provider,
  { identity, failedSecrets, documents, keySets }: LookupDependencies,
): void {
  const { clients } = identity;
  const clientOfRecord = new WeakMap<RegisteredClient, Client>();
  const findInLibrary = provider.Client.find.bind(provider.Client);
  provider.Client.find = async (clientId) => {
    if (typeof clientId !== 'string') {
      // The `sub` of a client assertion can be anything.
      return undefined;
    }
    const context = currentContext();
    const found = currentRequest();
    // The first lookup of a request is for the client that authenticates. Later ones are for other
    // clients.
    const isFirst = context !== undefined && found.presentedClientId === undefined;
    if (isFirst && clientEndpointPaths.includes(context.path)) {
      found.presentedClientId = clientId;
      await failedSecrets.assertMayTry(clientId, addressGroupOf(context.req));
    }
    await documents.read(clientId, findInLibrary);
    const record = await clients.find(clientId);
    if (record?.enabled !== true) {
      found.isClientDisabled = record !== undefined;
      // The same work as for a known client with a wrong secret, so that timing reveals nothing
      // (CWE-203).
      clients.verifySecret(record, clientId);
      return undefined;
    }
    const client = clientOfRecord.get(record) ?? (await findInLibrary(clientId));
    if (client !== undefined) {
      clientOfRecord.set(record, client);
    }
    const assertion = context?.oidc.params?.client_assertion;
    // Not the address of the record, which can be older than the client.
    const address = client?.keysAddress;
    if (isFirst && client && typeof address === 'string' && typeof assertion === 'string') {
      const keys = await keySets(address, kidOf(assertion));
      const installed = keyStoreOf(client);
      installed.clear();
      for (const key of keys) {
        installed.add({ ...key });
      }
    }
    return client;
  };
}

/** The keys with which the library verifies assertions. Its types do not show them. */
const keyStoreOf = (client: Client) =>
  Reflect.get(client, 'asymmetricKeyStore') as { clear(): void; add(key: object): void };

function kidOf(assertion: string): unknown {
  try {
    const [header = ''] = assertion.split('.', 1);
    return Object(JSON.parse(Buffer.from(header, 'base64url').toString())).kid;
  } catch {
    return undefined;
  }
}

/** A 401 counts as a failed secret. `limitLookups` applies the limit. */
export function countFailedSecrets(failedSecrets: FailedSecrets): ProviderMiddleware {
  return async (context, next) => {
    await next();
    const clientId = contextOf(context.req).presentedClientId;
    if (clientId !== undefined && context.status === 401) {
      await failedSecrets.record(clientId, addressGroupOf(context.req));
    }
  };
}
