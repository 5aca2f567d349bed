import { type Identity, knownScopes, type SigningKeys } from '@gatehouse/identity';
import type { Configuration, JWKS } from 'oidc-provider';
import { providerRoutes } from '../http/provider-routes.ts';
import { renderErrorPage } from '../pages/error-page.ts';
import { type CreateAdapterDependencies, createAdapter } from './adapters/create-adapter.ts';
import { claimsOfScopes } from './policy/claims-of-user.ts';
import { cookieSettings } from './policy/cookies.ts';
import { createFindAccount } from './policy/find-account.ts';
import { createInteractionPolicy } from './policy/interaction-policy.ts';
import { interactionLifetime, timesToLive } from './policy/lifetimes.ts';
import { createLoadExistingGrant } from './policy/load-existing-grant.ts';
import { OMITTED, rememberOmittedRedirectUri } from './policy/omitted-redirect-uri.ts';
import { limitRequestedClaims } from './policy/requested-claims.ts';
import { sessionLifetime } from './policy/sessions.ts';
import { keepOfflineAccess } from './policy/settle-scope.ts';
import { mayIntrospect, mayRevoke } from './policy/token-policies.ts';

export interface ProviderSettings extends CreateAdapterDependencies {
  readonly identity: Identity;
  /** The keys at start. middleware/keep-jwks-current.ts installs later ones. */
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
    adapter: (model) => createAdapter(model, settings),
    jwks: { keys: signingKeys.all.map((key) => key.privateJwk) } as JWKS,
    cookies: cookieSettings(settings),
    clientAuthMethods: [...secretMethods, 'none'],
    discovery: {
      revocation_endpoint_auth_methods_supported: [...secretMethods, 'none'],
      introspection_endpoint_auth_methods_supported: secretMethods,
      ui_locales_supported: ['en', 'zh-CN'],
    },
    enabledJWA: { idTokenSigningAlgValues: ['RS256'] },
    // patches/implicit-response-type.ts adds `token`, which the library rejects here.
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
