/**
 * Everything that replaces a method of oidc-provider or reaches into its private state, in the
 * order in which it is applied. Prefer the library's documented settings, its adapters and Koa
 * middleware to a new entry. docs/decisions/09-oidc-provider-patches.md describes how to upgrade
 * the library.
 */
import type { Identity, KeptSigningKeys, SigningKeys } from '@gatehouse/identity';
import Provider, { type KoaContextWithOIDC } from 'oidc-provider';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import { checkPermissions, limitLookups, storeSecureKeys, tokenModels } from './client-patches.ts';
import type { SecurityProfile } from './clients.ts';
import { currentContext, type ProviderMiddleware } from './library.ts';
import { endSessionsWithGrants } from './lifetimes.ts';

/** Something in the library that Gatehouse replaces, or uses although it is not documented. */
interface Patch {
  readonly name: string;
  /** Why the library's own behavior is not enough, and why no documented setting helps. */
  readonly reason: string;
  /** The file of the library to compare when the library is upgraded. */
  readonly libraryFile: string;
  /** What the library must have, or the patch would do nothing or the wrong thing. */
  readonly joints: readonly Joint[];
  /** Absent if another file uses the joints later. */
  readonly apply?: (provider: Provider, dependencies: PatchDependencies) => void;
}

/** One member of one object inside the library. */
export interface Joint {
  readonly name: string;
  readonly member: string;
  readonly holderOf: (provider: Provider) => object | undefined;
  readonly isExpected: (value: unknown) => boolean;
}

export interface PatchDependencies {
  readonly identity: Identity;
  readonly securityProfile: SecurityProfile;
  readonly failedSecrets: Pick<FailedSecrets, 'assertMayTry'>;
  readonly formPostPage: FormPostPage;
  /** The grant types of the platform endpoint. */
  readonly platformGrantTypes: ReadonlySet<string>;
  /** The one token that follows a refresh token. */
  readonly successorOf: (refreshToken: string) => string;
}

/** Replies with a page that posts the parameters to the redirect URI. */
export type FormPostPage = (
  context: KoaContextWithOIDC,
  redirectUri: string,
  parameters: Readonly<Record<string, unknown>>,
) => void;

export const patches: readonly Patch[] = [
  {
    name: 'current-context',
    reason:
      'Adapters and models have to know the request that they serve. The library passes no context ' +
      'to them. Its published types name Provider.ctx, but its documentation does not.',
    libraryFile: 'lib/provider.js',
    joints: [
      {
        name: 'Provider.ctx',
        member: 'ctx',
        holderOf: () => Provider,
        isExpected: () =>
          typeof Object.getOwnPropertyDescriptor(Provider, 'ctx')?.get === 'function',
      },
    ],
  },
  {
    name: 'implicit-response-type',
    reason:
      'The specification requires response_type=token (RFC 6749 §4.2). The library rejects it in its ' +
      'configuration but still implements it (docs/decisions/09-oidc-provider-patches.md).',
    libraryFile: 'lib/helpers/configuration.js',
    joints: [
      property(
        'configuration',
        (it) => instance(it)?.configuration,
        'responseTypes',
        Array.isArray,
      ),
    ],
    // Before the first client is looked up, because the library validates clients against it.
    apply(provider, { securityProfile }) {
      if (securityProfile === 'compatible') {
        internalsOf(provider).configuration.responseTypes.push('token');
      }
    },
  },
  {
    name: 'form-post-mode',
    reason:
      'The page of the library for response_mode=form_post has an inline script, which the Content Security Policy of ' +
      'the pages forbids, and is in English only. registerResponseMode() does not replace a mode of the library.',
    libraryFile: 'lib/response_modes/form_post.js',
    joints: [entry('responseModes', 'form_post')],
    apply(provider, { formPostPage }) {
      internalsOf(provider).responseModes.set('form_post', formPostPage);
    },
  },
  {
    name: 'signing-keys',
    reason:
      'The library reads its signing keys only when it is constructed, and a new provider for each ' +
      'rotation would lose state (docs/decisions/18-key-rotation.md).',
    libraryFile: 'lib/helpers/initialize_keystore.js',
    joints: [
      method('keystore', (it) => instance(it)?.keystore, 'clear', 0),
      method('keystore', (it) => instance(it)?.keystore, 'add', 1),
      property('provider state', instance, 'jwks', (value) =>
        Array.isArray((value as { readonly keys?: unknown } | undefined)?.keys),
      ),
    ],
  },
  {
    name: 'refresh-token-grant',
    reason:
      'Refresh tokens of machines have no account, which the library requires. The library allows a ' +
      'grant handler to be replaced, but not to be called from its replacement.',
    libraryFile: 'lib/actions/grants/refresh_token.js',
    joints: [entry('grantTypeHandlers', 'refresh_token')],
  },
  {
    name: 'refresh-token-values',
    reason:
      'Every use of a refresh token within its grace must give the same successor ' +
      '(docs/decisions/12-single-use.md). The library generates random values only.',
    libraryFile: 'lib/models/base_model.js',
    joints: [
      method('RefreshToken.prototype', (it) => it.RefreshToken.prototype, 'generateTokenId', 0),
    ],
    apply(provider, { successorOf }) {
      const prototype = provider.RefreshToken.prototype as unknown as { generateTokenId(): string };
      const { generateTokenId } = prototype;
      prototype.generateTokenId = function deriveOrGenerate() {
        const predecessor = currentContext()?.oidc.entities.RotatedRefreshToken;
        return predecessor === undefined
          ? generateTokenId.call(this)
          : successorOf(predecessor.jti);
      };
    },
  },
  {
    name: 'session-end',
    reason:
      'A sign-out ends the grants of the session first (docs/decisions/15-sign-out.md); the ' +
      'library revokes none. An adapter cannot do it, because the library also destroys a record to rename a ' +
      'session. The library throws when an error page touches a session that was never stored.',
    libraryFile: 'lib/models/session.js',
    joints: [
      method('Session.prototype', (it) => it.Session.prototype, 'destroy', 0),
      method('Session.prototype', (it) => it.Session.prototype, 'persist', 0),
    ],
    apply: endSessionsWithGrants,
  },
  {
    name: 'client-permissions',
    reason:
      'A response type or grant type that a client is not registered for is unauthorized_client ' +
      '(RFC 6749 §4.1.2.1, §5.2). The library reports invalid_request. The platform endpoint supports ' +
      'fewer grant types than /token. No documented setting makes the library ignore scopes that the client is not ' +
      'registered for, or gives a request without a scope the registered ones.',
    libraryFile: 'lib/models/client.js',
    joints: [
      method('Client.prototype', (it) => it.Client.prototype, 'responseTypeAllowed', 1),
      method('Client.prototype', (it) => it.Client.prototype, 'grantTypeAllowed', 1),
    ],
    apply: checkPermissions,
  },
  {
    name: 'secure-keys-of-tokens',
    reason:
      'Removing a secure key revokes the tokens that were issued with it (docs/decisions/17-secure-keys.md). ' +
      'The library knows one plaintext secret for a client, pads it with NUL when it compares, and stores no custom ' +
      'member in refresh tokens.',
    libraryFile: 'lib/models/base_token.js',
    joints: [
      method('Client.prototype', (it) => it.Client.prototype, 'compareClientSecret', 1),
      ...tokenModels.flatMap((name) => [
        method(`${name}.prototype`, (it) => it[name].prototype, 'save', 0),
        property(
          name,
          (it) => it[name],
          'IN_PAYLOAD',
          (value) => Array.isArray(value) && value.includes('clientId'),
        ),
      ]),
    ],
    apply: storeSecureKeys,
  },
  {
    name: 'client-lookups',
    reason:
      'The limit of failed secrets must apply before a client is looked up, so that known and unknown ' +
      'clients get the same reply. The library also describes and hashes a client at every lookup to find the ' +
      'object that it built before; remembering it by registry record costs one map access.',
    libraryFile: 'lib/models/client.js',
    joints: [method('Client', (it) => it.Client, 'find', 1)],
    apply: limitLookups,
  },
];

/** @throws LibraryShapeError before anything is changed, when a joint is missing */
export function applyPatches(provider: Provider, dependencies: PatchDependencies): void {
  for (const patch of patches) {
    for (const joint of patch.joints) {
      const holder = joint.holderOf(provider);
      if (holder === undefined || !joint.isExpected(Reflect.get(holder, joint.member))) {
        throw new LibraryShapeError(patch, joint);
      }
    }
  }
  for (const patch of patches) {
    patch.apply?.(provider, dependencies);
  }
}

/** The installed oidc-provider does not have the shape that a patch needs. */
export class LibraryShapeError extends Error {
  override readonly name = 'LibraryShapeError';

  constructor(patch: Patch, joint: Joint) {
    super(
      `oidc-provider has changed: the patch "${patch.name}" needs ${joint.name}, which is missing or different ` +
        `in the installed version. Install the version that package.json names, or compare ${patch.libraryFile} of the ` +
        'library and adapt the patch (docs/decisions/09-oidc-provider-patches.md).',
    );
  }
}

/** A method with this number of parameters. */
function method(
  holder: string,
  holderOf: Joint['holderOf'],
  member: string,
  parameters: number,
): Joint {
  const isExpected = (value: unknown) => typeof value === 'function' && value.length === parameters;
  return { name: `${holder}.${member}()`, member, holderOf, isExpected };
}

/** A property whose value passes the test. */
function property(
  holder: string,
  holderOf: Joint['holderOf'],
  member: string,
  isExpected: Joint['isExpected'],
): Joint {
  return { name: `${holder}.${member}`, member, holderOf, isExpected };
}

/** A function in a map of the provider's private state. */
function entry(member: 'responseModes' | 'grantTypeHandlers', key: string): Joint {
  return {
    name: `${member}.get('${key}')`,
    member,
    holderOf: instance,
    isExpected: (map) => map instanceof Map && typeof map.get(key) === 'function',
  };
}

/** The private state of a provider. The joints show at start that it exists. */
const internalsOf = instance as (it: Provider) => NonNullable<ReturnType<typeof instance>>;

/**
 * Brings rotated signing keys into the running provider, in one synchronous step. The library signs
 * with the first key that fits, so the current one comes first.
 */
export function keepJwksCurrent(provider: Provider, kept: KeptSigningKeys): ProviderMiddleware {
  let installed: SigningKeys | undefined;
  return async (_context, next) => {
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
    await next();
  };
}

/** Replaces the library's handler of refresh tokens with one that can call it. */
export function wrapRefreshTokenGrant(
  provider: Provider,
  wrap: (context: KoaContextWithOIDC, handler: GrantHandler) => Promise<void>,
): void {
  const handlers = internalsOf(provider).grantTypeHandlers;
  const handler = handlers.get('refresh_token') as GrantHandler;
  handlers.set('refresh_token', (context) => wrap(context, handler));
}

/** Answers by setting `context.body`, or throws one of the library's errors. */
type GrantHandler = (context: KoaContextWithOIDC) => Promise<void>;
