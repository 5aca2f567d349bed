import { type Identity, knownScopes, type SigningKeys } from '@gatehouse/identity';
import type { Adapter, Configuration, JWKS } from 'oidc-provider';
import { forgetForeignOrigin } from '../cors/registered-origins.ts';
import { deviceFlow } from '../device-sign-in/device-pages.ts';
import { providerRoutes } from '../http/provider-routes.ts';
import { logout } from '../logout/logout-pages.ts';
import { renderErrorPage } from '../pages/error-page.ts';
import { ClientAdapter } from './adapters/client-adapter.ts';
import { keepAnonymousSessionsInBrowser } from './adapters/keep-anonymous-sessions-in-browser.ts';
import { keepInteractionsInBrowser } from './adapters/keep-interactions-in-browser.ts';
import { OidcAdapter } from './adapters/oidc-adapter.ts';
import type { SingleUse } from './adapters/single-use.ts';
import { failClosed } from './adapters/unavailable-adapter.ts';
import { type BrowserState, cookieSettings } from './policy/cookies.ts';
import { createFindAccount } from './policy/find-account.ts';
import { type SecurityProfile, supportedGrantTypes } from './policy/grant-types.ts';
import { createInteractionPolicy } from './policy/interaction-policy.ts';
import { interactionLifetime, timesToLive } from './policy/lifetimes.ts';
import { createLoadExistingGrant } from './policy/load-existing-grant.ts';
import { sessionLifetime } from './policy/sessions.ts';
import { mayIntrospect, mayRevoke } from './policy/token-policies.ts';

export interface ProviderSettings {
  readonly identity: Identity;
  /** Those of the start; later ones come through keep-jwks-current.ts. */
  readonly signingKeys: SigningKeys;
  readonly cookieKeys: readonly string[];
  /** https issuers get `Secure` cookies with name prefixes. */
  readonly secureCookies: boolean;
  /** How the records of a model are used up. */
  readonly singleUseOf: (model: string) => SingleUse;
  readonly securityProfile: SecurityProfile;
  readonly browserState: BrowserState;
}

/** Everything the library leaves open, said explicitly: its defaults are for development. */
export function providerConfiguration(settings: ProviderSettings): Configuration {
  const { identity, signingKeys } = settings;
  const strict = settings.securityProfile === 'strict';
  return {
    adapter: (model) => failClosed(createAdapter(model, settings)),
    jwks: { keys: signingKeys.all.map((key) => key.privateJwk) } as JWKS,
    cookies: cookieSettings(settings),
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    enabledJWA: { idTokenSigningAlgValues: ['RS256'] },
    responseTypes: ['code'],
    scopes: [...knownScopes],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'] },
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: deviceFlow(identity),
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      introspection: { enabled: true, allowedPolicy: mayIntrospect(identity) },
      pushedAuthorizationRequests: { enabled: true },
      resourceIndicators: { enabled: false },
      revocation: { enabled: true, allowedPolicy: mayRevoke },
      rpInitiatedLogout: logout(identity),
      userinfo: { enabled: true },
    },
    routes: providerRoutes,
    allowOmittingSingleRegisteredRedirectUri: false,
    pkce: { required: (_context, client) => strict || client.clientAuthMethod === 'none' },
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // Bound to the grant instead: a session lookup a token would cost every verifier a second read.
    expiresWithSession: async () => false,
    clockTolerance: 0,
    ttl: { ...timesToLive(strict), Session: sessionLifetime, Interaction: interactionLifetime },
    clientBasedCORS: (context, origin, client) =>
      forgetForeignOrigin(context, origin, client.corsOrigins),
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
function createAdapter(model: string, settings: ProviderSettings): Adapter {
  const { identity, singleUseOf, browserState } = settings;
  if (model === 'Client') {
    return new ClientAdapter(identity.clients, supportedGrantTypes(settings.securityProfile));
  }
  const stored = new OidcAdapter(model, { ...identity, singleUse: singleUseOf(model) });
  if (model === 'Interaction') {
    return keepInteractionsInBrowser(stored, { ...identity, cookies: browserState.interactions });
  }
  return model === 'Session'
    ? keepAnonymousSessionsInBrowser(stored, browserState.sessions)
    : stored;
}
