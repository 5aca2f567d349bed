/**
 * Everything that replaces a method of oidc-provider or reaches into its private state. Prefer the
 * library's documented settings, its adapters and Koa middleware to a new patch.
 * docs/decisions/09-oidc-provider-patches.md describes how to upgrade the library.
 */
import { createRequire } from 'node:module';
import {
  type KeptSigningKeys,
  reportedAcr,
  requestedAcr,
  type Settings,
  type SigningKeys,
} from '@gatehouse/identity';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { confirm as confirmLogout } from 'oidc-provider/lib/actions/end_session.js';
import internalsOf from 'oidc-provider/lib/helpers/weak_cache.js';
import { contextOf } from '../requests/request-context.ts';
import { claimAssertions, clockTolerance } from './client-assertions.ts';
import {
  checkPermissions,
  type LookupDependencies,
  limitLookups,
  storeSecureKeys,
} from './client-patches.ts';
import type { SecurityProfile } from './clients.ts';
import { queueLogouts } from './deliver-logouts.ts';
import { currentContext, type ProviderMiddleware } from './library.ts';
import { endSessionsWithGrants } from './times-to-live.ts';

/** Replies with a page that posts the parameters to the redirect URI. */
export type FormPostPage = Parameters<ReturnType<typeof internalsOf>['responseModes']['set']>[1];

/** The patches were compared with the source of this version. */
const LIBRARY_VERSION = '9.13.3';

/** @throws Error before anything is changed, if another version of the library is installed */
export function applyPatches(
  provider: Provider,
  dependencies: LookupDependencies & {
    readonly securityProfile: SecurityProfile;
    readonly formPostPage: FormPostPage;
    /** The one token that follows a refresh token. */
    readonly successorOf: (refreshToken: string) => string;
  },
): void {
  const { identity, securityProfile, formPostPage } = dependencies;
  assertVersion();
  const { configuration, responseModes } = internalsOf(provider);
  // lib/helpers/configuration.js: the specification requires response_type=token (RFC 6749 §4.2).
  // The library rejects it in its configuration but still implements it. It is added before the
  // first client is looked up, because the library validates clients against it.
  if (securityProfile === 'compatible') {
    configuration.responseTypes.push('token');
  }
  // lib/response_modes/form_post.js: the page of the library has an inline script, which the
  // Content-Security-Policy forbids, and is in English only. registerResponseMode() does not replace
  // a mode of the library.
  responseModes.set('form_post', formPostPage);
  deriveRefreshTokens(provider, dependencies.successorOf);
  endSessionsWithGrants(provider, identity);
  checkPermissions(provider, securityProfile);
  storeSecureKeys(provider, identity);
  limitLookups(provider, dependencies);
  claimAssertions(provider, identity);
  queueLogouts(provider, identity);
  reportRequestedAcr(provider);
  // lib/shared/jwt_client_auth.js: one setting would also extend every token and code.
  Object.defineProperty(configuration, 'clockTolerance', { get: clockTolerance });
}

/** Another version of the library could turn a patch into one that does nothing. */
function assertVersion(): void {
  const { version } = createRequire(import.meta.url)('oidc-provider/package.json');
  if (version !== LIBRARY_VERSION) {
    throw new Error(
      `The patches are for oidc-provider ${LIBRARY_VERSION}, but ${version} is installed. Install ` +
        'the former, or compare the patches (docs/decisions/09-oidc-provider-patches.md).',
    );
  }
}

/**
 * lib/helpers/oidc_context.js: OpenID Connect Core §5.5.1.1, the `acr` of a reply must be one that
 * was requested, also if the session has a stronger one.
 */
function reportRequestedAcr({ OIDCContext }: Provider): void {
  Object.defineProperty(OIDCContext.prototype, 'acr', {
    get(this: KoaContextWithOIDC['oidc']) {
      return reportedAcr(this.session?.acr, requestedAcr(this.params ?? {}));
    },
  });
}

/**
 * lib/actions/end_session.js: ends the session with its grants, and redirects, as the form of the
 * question does. Of its steps, only the last one is needed: the others read the form.
 */
export async function endSession(context: KoaContextWithOIDC): Promise<void> {
  Object.assign(context.oidc.params ?? {}, { logout: 'yes' });
  await confirmLogout.at(-1)?.(context);
}

/**
 * lib/models/base_model.js: every use of a refresh token within its grace must give the same
 * successor (docs/decisions/12-single-use.md). The library generates random values only.
 */
function deriveRefreshTokens(provider: Provider, successorOf: (refreshToken: string) => string) {
  const prototype = provider.RefreshToken.prototype as unknown as { generateTokenId(): string };
  const { generateTokenId } = prototype;
  prototype.generateTokenId = function deriveOrGenerate() {
    const predecessor = currentContext()?.oidc.entities.RotatedRefreshToken;
    return predecessor === undefined ? generateTokenId.call(this) : successorOf(predecessor.jti);
  };
}

/**
 * Brings rotated signing keys into the running provider, in one synchronous step. The library signs
 * with the first key that fits, so the current one comes first. It reads its keys only when it is
 * constructed, and a new provider would lose state (docs/decisions/18-key-rotation.md).
 */
export function createKeyInstaller(provider: Provider, kept: KeptSigningKeys) {
  let installed: SigningKeys | undefined;
  return async () => {
    const keys = await kept.load();
    if (keys !== installed) {
      const internals = internalsOf(provider);
      internals.keystore.clear();
      for (const key of keys.all) {
        internals.keystore.add({ ...key.privateJwk });
      }
      internals.jwks = { keys: keys.all.map((key) => key.publicJwk) };
      installed = keys;
    }
  };
}

/**
 * lib/helpers/claims.js: declares the attributes of users as claims of their scopes. The library
 * reads its claims only when it is constructed.
 */
export function keepClaimsCurrent(provider: Provider): ProviderMiddleware {
  const { claims, claimsSupported } = internalsOf(provider).configuration;
  let installed: Settings['userAttributes'] = {};
  return async ({ req }, next) => {
    const declared = contextOf(req).settings?.userAttributes ?? installed;
    if (declared !== installed) {
      for (const [name, { scope }] of Object.entries(installed)) {
        delete claims[scope]?.[name];
        claimsSupported.delete(name);
      }
      for (const [name, { scope }] of Object.entries(declared)) {
        Object.assign(claims[scope] ?? {}, { [name]: null });
        claimsSupported.add(name);
      }
      installed = declared;
    }
    await next();
  };
}

/** Answers by setting `context.body`, or throws one of the library's errors. */
type GrantHandler = (context: KoaContextWithOIDC) => Promise<void>;

/**
 * Replaces the library's handler of refresh tokens with one that can call it. The library allows a
 * handler to be replaced, but not to be called from its replacement.
 */
export function wrapRefreshTokenGrant(
  provider: Provider,
  wrap: (context: KoaContextWithOIDC, handler: GrantHandler) => Promise<void>,
): void {
  const handlers = internalsOf(provider).grantTypeHandlers;
  const handler = handlers.get('refresh_token') as GrantHandler;
  handlers.set('refresh_token', (context) => wrap(context, handler));
}
