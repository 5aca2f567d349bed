/**
 * Configures oidc-provider. The library implements the protocol. This folder has the rest: its
 * settings, rules and records, the changes to its internals (patches.ts), and the Koa steps around
 * its endpoints. Callers pass pages, endpoints and their steps, so that this folder does not import
 * its callers.
 */
import {
  type Identity,
  type KeptSigningKeys,
  knownScopes,
  type MasterKey,
  type SigningKeys,
} from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import Provider, { type Adapter, type Configuration, type JWKS } from 'oidc-provider';
import { renderErrorPage } from '../pages/error-page.ts';
import { providerRoutes } from '../requests/routes.ts';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import {
  chargeStoredRequest,
  limitedModels,
  type TokenBudgets,
} from '../throttle/stored-budgets.ts';
import {
  type BrowserState,
  cookieSettings,
  keepAnonymousSessionsInBrowser,
  keepInteractionsInBrowser,
} from './browser-state.ts';
import { claimsOfScopes, createFindAccount, limitRequestedClaims } from './claims.ts';
import { countFailedSecrets } from './client-patches.ts';
import { createClientAdapter, type SecurityProfile } from './clients.ts';
import { addPollingInterval, completeDeviceCodes } from './device-codes.ts';
import { mayIntrospect, mayRevoke } from './introspection.ts';
import { currentContext, failClosed, type ProviderMiddleware } from './library.ts';
import { createOidcAdapter } from './oidc-adapter.ts';
import { applyPatches, type FormPostPage, keepClaimsCurrent, keepJwksCurrent } from './patches.ts';
import {
  keepOfflineAccess,
  OMITTED,
  rememberOmittedRedirectUri,
  requireRedirectUri,
} from './request-parameters.ts';
import { resourceIndicators } from './resources.ts';
import { createSingleUses, type SingleUse } from './single-use.ts';
import { timesToLive } from './times-to-live.ts';

export type { Provider };

type Features = NonNullable<Configuration['features']>;

interface ProviderDependencies {
  readonly issuer: string;
  readonly identity: Identity;
  readonly masterKey: MasterKey;
  readonly securityProfile: SecurityProfile;
  readonly browserState: BrowserState;
  readonly failedSecrets: FailedSecrets;
  readonly tokenBudgets: TokenBudgets;
  /** The keys at start. `keptSigningKeys` has later ones. */
  readonly signingKeys: SigningKeys;
  readonly keptSigningKeys: KeptSigningKeys;
  readonly cookieKeys: readonly string[];
}

/** The parts of the provider that other folders own. */
interface ProviderExtensions {
  readonly configuration: Pick<
    Configuration,
    'clientBasedCORS' | 'interactions' | 'loadExistingGrant'
  > &
    Required<Pick<Features, 'deviceFlow' | 'rpInitiatedLogout'>>;
  readonly formPostPage: FormPostPage;
  /** The outermost steps, which change every reply, including errors. */
  readonly replySteps: readonly ProviderMiddleware[];
  /** The steps before and after an endpoint. Their errors are handled. */
  readonly endpointSteps: readonly ProviderMiddleware[];
}

/** @throws Error when the installed oidc-provider does not have the shape that the patches need */
export function createProvider(
  dependencies: ProviderDependencies,
  extensions: ProviderExtensions,
): Provider {
  const { issuer, identity, masterKey, failedSecrets, securityProfile } = dependencies;
  const singleUses = createSingleUses(identity, masterKey, securityProfile);
  const adapter = (model: string) =>
    failClosed(adapterOf(model, dependencies, singleUses.of(model)));
  const provider = new Provider(issuer, {
    adapter,
    ...settingsOf(dependencies, extensions.configuration),
  });
  const { formPostPage } = extensions;
  applyPatches(provider, { ...dependencies, formPostPage, successorOf: singleUses.successorOf });
  // fixOrigin alone sets the proxy headers, so that every URL starts with the issuer.
  provider.proxy = true;
  const steps = [
    ...extensions.replySteps,
    addPollingInterval,
    countFailedSecrets(failedSecrets),
    singleUses.complete,
    ...extensions.endpointSteps,
    keepJwksCurrent(provider, dependencies.keptSigningKeys),
    keepClaimsCurrent(provider),
  ];
  for (const step of steps) {
    provider.use(step);
  }
  return provider;
}

const secretMethods: NonNullable<Configuration['clientAuthMethods']> = [
  'client_secret_basic',
  'client_secret_post',
];

/** Sets explicitly what the library leaves open: its defaults are for development. */
function settingsOf(
  { issuer, identity, securityProfile, signingKeys, cookieKeys }: ProviderDependencies,
  { deviceFlow, rpInitiatedLogout, ...configuration }: ProviderExtensions['configuration'],
): Configuration {
  const strict = securityProfile === 'strict';
  return {
    ...configuration,
    jwks: { keys: signingKeys.all.map((key) => key.privateJwk) } as JWKS,
    cookies: cookieSettings(cookieKeys, issuer.startsWith('https:')),
    clientAuthMethods: [...secretMethods, 'none'],
    discovery: {
      revocation_endpoint_auth_methods_supported: [...secretMethods, 'none'],
      introspection_endpoint_auth_methods_supported: secretMethods,
      ui_locales_supported: ['en', 'zh-CN'],
    },
    enabledJWA: { idTokenSigningAlgValues: ['RS256'] },
    // A patch adds `token`, which the library rejects here.
    responseTypes: strict ? ['code'] : ['code', 'id_token', 'id_token token'],
    scopes: [...knownScopes],
    claims: claimsOfScopes,
    // Most libraries of Node read only the ID token (docs/decisions/11-scopes-and-claims.md).
    conformIdTokenClaims: strict,
    features: {
      claimsParameter: { enabled: true, assertClaimsParameter: limitRequestedClaims({ strict }) },
      clientCredentials: { enabled: true },
      deviceFlow,
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      introspection: { enabled: true, allowedPolicy: mayIntrospect(identity) },
      pushedAuthorizationRequests: { enabled: true },
      resourceIndicators: resourceIndicators(identity),
      revocation: { enabled: true, allowedPolicy: mayRevoke },
      rpInitiatedLogout,
      userinfo: { enabled: true },
    },
    routes: providerRoutes,
    allowOmittingSingleRegisteredRedirectUri: false,
    extraParams: { [OMITTED]: rememberOmittedRedirectUri, scope: keepOfflineAccess },
    pkce: { required: (_context, client) => strict || client.clientAuthMethod === 'none' },
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // Tokens are bound to the grant instead: a session lookup for each token would be a second
    // read.
    expiresWithSession: async () => false,
    clockTolerance: 0,
    ttl: timesToLive(strict),
    extraClientMetadata: {
      properties: ['corsOrigins', 'registeredScopes', 'defaultResource', 'lifetimes'],
    },
    findAccount: createFindAccount(identity),
    renderError: renderErrorPage,
  };
}

/** Where the records of a model are kept. */
function adapterOf(
  model: string,
  { identity, securityProfile, browserState, tokenBudgets }: ProviderDependencies,
  singleUse: SingleUse,
): Adapter {
  if (model === 'Client') {
    return createClientAdapter(identity.clients, securityProfile);
  }
  const unlimited = createOidcAdapter(model, { ...identity, singleUse });
  const stored = limitedModels.has(model) ? limitTokens(unlimited, model, tokenBudgets) : unlimited;
  switch (model) {
    case 'Interaction':
      return keepInteractionsInBrowser(stored, identity, browserState.interactions);
    case 'Session':
      return keepAnonymousSessionsInBrowser(stored, browserState.sessions);
    case 'PushedAuthorizationRequest':
      return limitPushedRequests(stored, identity.store);
    case 'DeviceCode':
      return completeDeviceCodes(stored, identity);
    case 'AuthorizationCode':
      return requireRedirectUri(stored);
    default:
      return stored;
  }
}

/**
 * Throws TooManyAttemptsError before a record is stored, and before a code or refresh token is
 * redeemed for records that would not fit. Otherwise, the client would lose it.
 */
function limitTokens(stored: Adapter, model: string, budgets: TokenBudgets): Adapter {
  return {
    ...stored,
    async upsert(id, payload, expiresIn) {
      await budgets.take(model, payload);
      await stored.upsert(id, payload, expiresIn);
    },
    async consume(id) {
      const { RefreshToken, AuthorizationCode, DeviceCode } = currentContext()?.oidc.entities ?? {};
      const redeemed = RefreshToken ?? AuthorizationCode ?? DeviceCode;
      if (redeemed !== undefined) {
        await budgets.assertRedeemable(redeemed);
      }
      await stored.consume(id);
    },
  };
}

/**
 * The record of a pushed request holds its parameters as a token, so they are read from the
 * request.
 */
function limitPushedRequests(stored: Adapter, store: Store): Adapter {
  return {
    ...stored,
    async upsert(id, payload, expiresIn) {
      const context = currentContext();
      await chargeStoredRequest(store, 'pushed', context?.oidc.params, context);
      await stored.upsert(id, payload, expiresIn);
    },
  };
}
