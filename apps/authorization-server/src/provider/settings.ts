import { type Identity, knownScopes, type SigningKeys } from '@gatehouse/identity';
import type { Adapter, Configuration, JWKS } from 'oidc-provider';
import { renderErrorPage } from '../pages/error-page.ts';
import { providerRoutes } from '../requests/routes.ts';
import {
  type BrowserState,
  cookieSettings,
  keepAnonymousSessionsInBrowser,
  keepInteractionsInBrowser,
} from './browser-state.ts';
import { claimsOfScopes, createFindAccount, limitRequestedClaims } from './claims.ts';
import { createClientAdapter, type Grants, type SecurityProfile } from './clients.ts';
import { completeDeviceCodes } from './device-codes.ts';
import { mayIntrospect, mayRevoke } from './introspection.ts';
import { failClosed } from './library.ts';
import { interactionLifetime, sessionLifetime, timesToLive } from './lifetimes.ts';
import { OidcAdapter } from './oidc-adapter.ts';
import {
  keepOfflineAccess,
  OMITTED,
  rememberOmittedRedirectUri,
  requireRedirectUri,
} from './request-parameters.ts';
import { createInteractionPolicy, createLoadExistingGrant } from './sign-in-policy.ts';
import type { SingleUse } from './single-use.ts';
import {
  limitedModels,
  limitPushedRequests,
  limitTokens,
  type TokenBudgets,
} from './stored-budgets.ts';

export interface ProviderSettings {
  readonly identity: Identity;
  readonly securityProfile: SecurityProfile;
  /** The grants that the server supports. */
  readonly grants: Grants;
  readonly browserState: BrowserState;
  /** How the records of a model are used once. */
  readonly singleUseOf: (model: string) => SingleUse;
  readonly tokenBudgets: TokenBudgets;
  /** The keys at start. `keepJwksCurrent` installs later ones. */
  readonly signingKeys: SigningKeys;
  readonly cookieKeys: readonly string[];
  /** https issuers get `Secure` cookies with name prefixes. */
  readonly secureCookies: boolean;
}

type Features = NonNullable<Configuration['features']>;

/** The settings that the folders of the pages and of CORS own. */
export interface ConfigurationExtensions {
  readonly deviceFlow: NonNullable<Features['deviceFlow']>;
  readonly rpInitiatedLogout: NonNullable<Features['rpInitiatedLogout']>;
  readonly clientBasedCORS: NonNullable<Configuration['clientBasedCORS']>;
}

const secretMethods: NonNullable<Configuration['clientAuthMethods']> = [
  'client_secret_basic',
  'client_secret_post',
];

/** Sets explicitly what the library leaves open: its defaults are for development. */
export function providerConfiguration(
  settings: ProviderSettings,
  extensions: ConfigurationExtensions,
): Configuration {
  const { identity, signingKeys } = settings;
  const strict = settings.securityProfile === 'strict';
  return {
    adapter: (model) => failClosed(adapterOf(model, settings)),
    jwks: { keys: signingKeys.all.map((key) => key.privateJwk) } as JWKS,
    cookies: cookieSettings(settings),
    clientAuthMethods: [...secretMethods, 'none'],
    discovery: {
      revocation_endpoint_auth_methods_supported: [...secretMethods, 'none'],
      introspection_endpoint_auth_methods_supported: secretMethods,
      ui_locales_supported: ['en', 'zh-CN'],
    },
    enabledJWA: { idTokenSigningAlgValues: ['RS256'] },
    // The patch `implicit-response-type` adds `token`, which the library rejects here.
    responseTypes: strict ? ['code'] : ['code', 'id_token', 'id_token token'],
    scopes: [...knownScopes],
    claims: claimsOfScopes,
    // Most libraries of Node read only the ID token (docs/decisions/11-scopes-and-claims.md).
    conformIdTokenClaims: strict,
    features: {
      claimsParameter: { enabled: true, assertClaimsParameter: limitRequestedClaims({ strict }) },
      clientCredentials: { enabled: true },
      deviceFlow: extensions.deviceFlow,
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      introspection: { enabled: true, allowedPolicy: mayIntrospect(identity) },
      pushedAuthorizationRequests: { enabled: true },
      resourceIndicators: { enabled: false },
      revocation: { enabled: true, allowedPolicy: mayRevoke },
      rpInitiatedLogout: extensions.rpInitiatedLogout,
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
    ttl: { ...timesToLive(strict), Session: sessionLifetime, Interaction: interactionLifetime },
    clientBasedCORS: extensions.clientBasedCORS,
    extraClientMetadata: { properties: ['corsOrigins'] },
    interactions: {
      policy: createInteractionPolicy(identity),
      url: (_context, interaction) => `/sign-in/${interaction.uid}`,
    },
    loadExistingGrant: createLoadExistingGrant(identity.clients),
    findAccount: createFindAccount(identity),
    renderError: renderErrorPage,
  };
}

/** Where the records of a model are kept. */
function adapterOf(model: string, settings: ProviderSettings): Adapter {
  const { identity, singleUseOf, browserState, tokenBudgets: budgets } = settings;
  if (model === 'Client') {
    return createClientAdapter(identity.clients, settings.grants);
  }
  const unlimited = new OidcAdapter(model, { ...identity, singleUse: singleUseOf(model) });
  const stored = limitedModels.has(model)
    ? limitTokens(unlimited, model, { identity, budgets })
    : unlimited;
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
