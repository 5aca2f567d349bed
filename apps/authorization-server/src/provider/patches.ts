/**
 * Everything that replaces a method of oidc-provider or reaches into its private state. Prefer the
 * library's documented settings, its adapters and Koa middleware to a new patch.
 * docs/decisions/09-oidc-provider-patches.md describes how to upgrade the library.
 */
import {
  type KeptSigningKeys,
  reportedAcr,
  requestedAcr,
  type Settings,
  type SigningKeys,
} from '@gatehouse/identity';
import Provider, { type KoaContextWithOIDC } from 'oidc-provider';
import { confirm as confirmLogout } from 'oidc-provider/lib/actions/end_session.js';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';
import { contextOf } from '../requests/request-context.ts';
import { claimAssertions, clockTolerance } from './client-assertions.ts';
import {
  checkPermissions,
  type LookupDependencies,
  limitLookups,
  storeSecureKeys,
  tokenModels,
} from './client-patches.ts';
import type { SecurityProfile } from './clients.ts';
import { queueLogouts } from './deliver-logouts.ts';
import { currentContext, type ProviderMiddleware } from './library.ts';
import { endSessionsWithGrants } from './times-to-live.ts';

/** Replies with a page that posts the parameters to the redirect URI. */
export type FormPostPage = Parameters<ReturnType<typeof internalsOf>['responseModes']['set']>[1];

/** @throws Error before anything is changed, if the library does not have the shape it needs */
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
  assertLibraryShape(provider);
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

/** A later version of the library could turn a patch into one that does nothing. */
function assertLibraryShape(provider: Provider): void {
  const { configuration, responseModes, grantTypeHandlers, keystore, jwks } = internalsOf(provider);
  const { Client, RefreshToken, ReplayDetection, Session } = provider;
  const hasParameters = (count: number, ...methods: readonly unknown[]) =>
    methods.every((each) => typeof each === 'function' && each.length === count);
  const shapes: Readonly<Record<string, boolean>> = {
    'lib/provider.js': Object.getOwnPropertyDescriptor(Provider, 'ctx')?.get !== undefined,
    'lib/helpers/configuration.js':
      Array.isArray(configuration?.responseTypes) &&
      configuration.claimsSupported instanceof Set &&
      configuration.claims?.openid?.sub === null &&
      typeof configuration.clockTolerance === 'number',
    'lib/helpers/oidc_context.js':
      Object.getOwnPropertyDescriptor(provider.OIDCContext.prototype, 'acr')?.get !== undefined,
    'lib/models/replay_detection.js': hasParameters(3, ReplayDetection.unique),
    'lib/response_modes/form_post.js': responseModes?.get('form_post') !== undefined,
    'lib/actions/grants/refresh_token.js': grantTypeHandlers?.get('refresh_token') !== undefined,
    'lib/helpers/initialize_keystore.js':
      hasParameters(0, keystore?.clear) &&
      hasParameters(1, keystore?.add) &&
      Array.isArray(jwks?.keys),
    'lib/models/base_model.js': hasParameters(
      0,
      Reflect.get(RefreshToken.prototype, 'generateTokenId'),
    ),
    'lib/models/session.js': hasParameters(0, Session.prototype.destroy, Session.prototype.persist),
    'lib/models/client.js': hasParameters(
      1,
      Client.find,
      Client.prototype.responseTypeAllowed,
      Client.prototype.grantTypeAllowed,
      Client.prototype.compareClientSecret,
    ),
    'lib/actions/end_session.js':
      hasParameters(2, Reflect.get(Client.prototype, 'backchannelLogout')) &&
      confirmLogout.at(-1)?.name === 'endSession',
    'lib/models/base_token.js': tokenModels.every(
      (name) =>
        hasParameters(0, provider[name].prototype.save) &&
        Reflect.get(provider[name], 'IN_PAYLOAD')?.includes('clientId'),
    ),
  };
  const changed = Object.keys(shapes).filter((file) => !shapes[file]);
  if (changed.length > 0) {
    throw new Error(
      `oidc-provider has changed in ${changed.join(', ')}. Install the version that package.json ` +
        'names, or adapt the patches (docs/decisions/09-oidc-provider-patches.md).',
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

/** The private state of a provider. `assertLibraryShape` shows at start that it exists. */
const internalsOf = instance as (it: Provider) => NonNullable<ReturnType<typeof instance>>;

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
