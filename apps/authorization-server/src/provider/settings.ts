/**
 * The settings of oidc-provider, and where it keeps its records. The library implements the protocol.
 * This folder has the rest: rules, records, and the changes to its internals (patches.ts). app.ts adds
 * the pages of the other folders and the Koa steps around the endpoints.
 */
import {
  acrValues,
  assertionAlgorithms,
  CONSOLE_CLIENT_ID,
  type Identity,
  isOperatorApi,
  knownScopes,
  type SigningKeys,
} from '@gatehouse/identity';
import type { Adapter, Configuration, JWKS } from 'oidc-provider';
import { createGuardedFetch, type Outbound } from '../guarded-fetch.ts';
import { renderErrorPage } from '../pages/error-page.ts';
import { languages } from '../pages/languages.ts';
import { EXPIRED_TOKEN_SECONDS } from '../requests/lifetimes.ts';
import { providerRoutes } from '../requests/routes.ts';
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
import { assertionSettings } from './client-assertions.ts';
import { createClientAdapter, type SecurityProfile } from './clients.ts';
import { completeDeviceCodes } from './device-codes.ts';
import { jwtClaims, mayIntrospect, mayRevoke } from './introspection.ts';
import { beforeUpsert, currentContext } from './library.ts';
import { libraryFetch } from './metadata-documents.ts';
import { createOidcAdapter } from './oidc-adapter.ts';
import {
  keepOfflineAccess,
  OMITTED,
  rememberOmittedRedirectUri,
  requireRedirectUri,
} from './request-parameters.ts';
import { resourceIndicators } from './resources.ts';
import type { SingleUse } from './single-use.ts';
import { timesToLive } from './times-to-live.ts';

interface ProviderDependencies {
  readonly issuer: string;
  readonly identity: Identity;
  readonly cookieKeys: readonly string[];
  readonly securityProfile: SecurityProfile;
  readonly browserState: BrowserState;
  readonly tokenBudgets: TokenBudgets;
  readonly outbound?: Outbound;
}

const confidentialMethods: NonNullable<Configuration['clientAuthMethods']> = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
];

/** Sets explicitly what the library leaves open: its defaults are for development. */
export function providerSettings(
  { issuer, identity, securityProfile, cookieKeys, tokenBudgets, outbound }: ProviderDependencies,
  signingKeys: SigningKeys,
) {
  const strict = securityProfile === 'strict';
  const assertions = assertionSettings(securityProfile);
  return {
    jwks: { keys: signingKeys.all.map((key) => key.privateJwk) } as JWKS,
    cookies: cookieSettings(cookieKeys, issuer.startsWith('https:')),
    clientAuthMethods: [...confidentialMethods, 'none'],
    discovery: {
      revocation_endpoint_auth_methods_supported: [...confidentialMethods, 'none'],
      revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
      introspection_endpoint_auth_methods_supported: confidentialMethods,
      introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
      ui_locales_supported: languages.map(({ language }) => language),
    },
    ...assertions,
    enabledJWA: { ...assertions.enabledJWA, idTokenSigningAlgValues: ['RS256'] },
    // A patch adds `token`, which the library rejects here.
    responseTypes: strict ? ['code'] : ['code', 'id_token', 'id_token token'],
    scopes: [...knownScopes],
    acrValues: [...acrValues],
    claims: claimsOfScopes,
    formats: { customizers: jwtClaims(identity, tokenBudgets) },
    // Most libraries of Node read only the ID token (docs/decisions/11-scopes-and-claims.md).
    conformIdTokenClaims: strict,
    features: {
      backchannelLogout: { enabled: true },
      claimsParameter: { enabled: true, assertClaimsParameter: limitRequestedClaims({ strict }) },
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      introspection: { enabled: true, allowedPolicy: mayIntrospect(identity) },
      pushedAuthorizationRequests: { enabled: true },
      resourceIndicators: resourceIndicators(identity),
      revocation: { enabled: true, allowedPolicy: mayRevoke },
      userinfo: { enabled: true },
    },
    routes: providerRoutes,
    allowOmittingSingleRegisteredRedirectUri: false,
    extraParams: { [OMITTED]: rememberOmittedRedirectUri, scope: keepOfflineAccess },
    pkce: {
      required: (_context, { clientAuthMethod, clientId }) =>
        strict || clientAuthMethod === 'none' || clientId === CONSOLE_CLIENT_ID,
    },
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // Tokens are bound to the grant instead: a session lookup for each token would be a second
    // read.
    expiresWithSession: async () => false,
    clockTolerance: 0,
    ttl: timesToLive(strict),
    extraClientMetadata: {
      properties: [
        'corsOrigins',
        'registeredScopes',
        'defaultResource',
        'lifetimes',
        'keysAddress',
        'orgId',
      ],
    },
    findAccount: createFindAccount(identity),
    renderError: renderErrorPage,
    fetch: libraryFetch(createGuardedFetch(outbound)),
    // The guarded fetch has the limits.
    fetchResponseBodyLimits: { 'client_id metadata document': Number.POSITIVE_INFINITY },
    // All subjects are public, so the address has no use.
    sectorIdentifierUriValidate: () => false,
  } satisfies Configuration;
}

/** Where the records of a model are kept. */
export function createAdapter(
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
      // Its record holds the parameters as a token, so they are read from the request.
      return beforeUpsert(stored, () => {
        const context = currentContext();
        return chargeStoredRequest(identity.store, 'pushed', context?.oidc.params, context);
      });
    case 'AccessToken':
    case 'ClientCredentials':
      return keepExpired(stored, identity);
    case 'DeviceCode':
      return completeDeviceCodes(stored, identity);
    case 'AuthorizationCode':
      return requireRedirectUri(stored);
    default:
      return stored;
  }
}

/** The API of the console tells its callers whether a token has expired or is unknown. */
function keepExpired(stored: Adapter, { settings }: Pick<Identity, 'settings'>): Adapter {
  return {
    ...stored,
    async upsert(id, payload, seconds) {
      const isKept = isOperatorApi(String(payload.aud), await settings.read());
      await stored.upsert(id, payload, Number(seconds) + (isKept ? EXPIRED_TOKEN_SECONDS : 0));
    },
  };
}

/**
 * Throws TryLaterError before a record is stored, and before a code or refresh token is
 * redeemed for records that would not fit. Otherwise, the client would lose it.
 */
function limitTokens(stored: Adapter, model: string, budgets: TokenBudgets): Adapter {
  return {
    ...beforeUpsert(stored, (payload) => budgets.take(model, payload)),
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
