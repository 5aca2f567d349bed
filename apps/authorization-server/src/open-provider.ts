/**
 * Configures oidc-provider. The library implements the protocol. provider/ has its rules and records
 * and the changes to its internals (patches.ts). This file gives it the settings, the pages and
 * grants of the other folders, and the Koa steps around its endpoints.
 */
import {
  createXAccessTokens,
  defaultSigningKeyPolicy,
  type Identity,
  keepSigningKeys,
  knownScopes,
  type MasterKey,
  type SigningKeyPolicy,
  type SigningKeys,
} from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import Provider, { type Adapter, type Configuration, type JWKS } from 'oidc-provider';
import { auditProviderEvents } from './outcomes/audit.ts';
import { explainMistakes } from './outcomes/client-mistakes.ts';
import { handleUnexpectedErrors, logOutcomes } from './outcomes/errors.ts';
import { renderErrorPage } from './pages/error-page.ts';
import {
  type BrowserState,
  cookieSettings,
  keepAnonymousSessionsInBrowser,
  keepInteractionsInBrowser,
} from './provider/browser-state.ts';
import { claimsOfScopes, createFindAccount, limitRequestedClaims } from './provider/claims.ts';
import { countFailedSecrets } from './provider/client-patches.ts';
import { createClientAdapter, type SecurityProfile } from './provider/clients.ts';
import { addPollingInterval, completeDeviceCodes } from './provider/device-codes.ts';
import { completeIntrospection, mayIntrospect, mayRevoke } from './provider/introspection.ts';
import { currentContext, failClosed } from './provider/library.ts';
import { createOidcAdapter } from './provider/oidc-adapter.ts';
import { applyPatches, keepJwksCurrent } from './provider/patches.ts';
import {
  keepOfflineAccess,
  OMITTED,
  rememberOmittedRedirectUri,
  requireRedirectUri,
} from './provider/request-parameters.ts';
import { createSingleUses, type SingleUse } from './provider/single-use.ts';
import { timesToLive } from './provider/times-to-live.ts';
import { thisServer } from './requests/caller.ts';
import { providerRoutes } from './requests/routes.ts';
import { formPostPage, redirectReply } from './sign-in/authorize.ts';
import { deviceFlow } from './sign-in/device.ts';
import { logout, skipLogoutQuestion } from './sign-in/logout.ts';
import { createInteractionPolicy, createLoadExistingGrant } from './sign-in/policy.ts';
import type { FailedSecrets } from './throttle/failed-secrets.ts';
import type { SignIn } from './throttle/sign-in-throttle.ts';
import {
  chargeStoredRequest,
  limitedModels,
  type TokenBudgets,
} from './throttle/stored-budgets.ts';
import { registerGrants } from './token/grants.ts';
import { clientEndpointReply, forgetForeignOrigin, removeForeignOrigins } from './token/replies.ts';

export interface ProviderSettings {
  readonly issuer: string;
  readonly identity: Identity;
  readonly masterKey: MasterKey;
  /** The first key signs the browser's cookies. All of them verify. */
  readonly cookieKeys: readonly string[];
  readonly securityProfile: SecurityProfile;
  readonly signingKeyPolicy?: SigningKeyPolicy;
  /** Of the signing keys. Epoch milliseconds. */
  readonly now?: () => number;
}

interface ProviderDependencies extends ProviderSettings {
  readonly browserState: BrowserState;
  readonly signIn: SignIn;
  readonly failedSecrets: FailedSecrets;
  readonly tokenBudgets: TokenBudgets;
}

/**
 * @throws StoreUnavailableError when the signing key cannot be read or created
 * @throws Error when the installed oidc-provider does not have the shape that the patches need
 */
export async function openProvider(dependencies: ProviderDependencies): Promise<Provider> {
  const { issuer, identity, masterKey, securityProfile, now = Date.now } = dependencies;
  const keptSigningKeys = keepSigningKeys('authorization-server', 'RS256', {
    ...identity,
    now,
    policy: dependencies.signingKeyPolicy ?? defaultSigningKeyPolicy,
    onMade: (kid) =>
      identity.audit.record(
        { event: 'signing_key_made', purpose: 'authorization-server', kid },
        thisServer,
      ),
  });
  const singleUses = createSingleUses(identity, masterKey, securityProfile);
  const provider = new Provider(issuer, {
    adapter: (model: string) => failClosed(adapterOf(model, dependencies, singleUses.of(model))),
    ...settingsOf(dependencies, await keptSigningKeys.load()),
  });
  applyPatches(provider, { ...dependencies, formPostPage, successorOf: singleUses.successorOf });
  // fixOrigin alone sets the proxy headers, so that every URL starts with the issuer.
  provider.proxy = true;
  const steps = [
    // The first steps change every reply, including errors.
    redirectReply,
    removeForeignOrigins,
    clientEndpointReply,
    handleUnexpectedErrors,
    addPollingInterval,
    countFailedSecrets(dependencies.failedSecrets),
    singleUses.complete,
    explainMistakes,
    completeIntrospection({
      identity,
      xAccessTokens: createXAccessTokens({ ...identity, now }),
      issuer,
    }),
    skipLogoutQuestion,
    keepJwksCurrent(provider, keptSigningKeys),
  ];
  for (const step of steps) {
    provider.use(step);
  }
  logOutcomes(provider, identity.clients);
  auditProviderEvents(provider, identity);
  registerGrants(provider, dependencies);
  return provider;
}

const secretMethods: NonNullable<Configuration['clientAuthMethods']> = [
  'client_secret_basic',
  'client_secret_post',
];

/** Sets explicitly what the library leaves open: its defaults are for development. */
function settingsOf(
  { issuer, identity, securityProfile, cookieKeys }: ProviderDependencies,
  signingKeys: SigningKeys,
): Configuration {
  const strict = securityProfile === 'strict';
  return {
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
    interactions: {
      policy: createInteractionPolicy(identity),
      url: (_context, interaction) => `/sign-in/${interaction.uid}`,
    },
    loadExistingGrant: createLoadExistingGrant(identity.clients),
    clientBasedCORS: forgetForeignOrigin,
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
    extraClientMetadata: { properties: ['corsOrigins'] },
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
