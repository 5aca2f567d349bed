/**
 * Asks an upstream provider who the user is: the address to which the browser goes, and the exchange
 * of the code that it brings back. Everything goes through the guarded fetch.
 *
 * Not here: what an account at the provider is worth (accounts.ts).
 */
import { type Identity, SETTINGS_KEY, type Upstream } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client';
import type { GuardedFetch } from '../guarded-fetch.ts';
import {
  addressOf,
  type Claims,
  oidcMembers,
  toIdentity,
  type UpstreamIdentity,
} from './identity.ts';

/** Discovered metadata and keys are read again after this time. */
const METADATA_MILLISECONDS = 30 * 60_000;
const MAXIMUM_PROVIDERS = 100;
/** In the log. */
const MAXIMUM_FINDING_LENGTH = 300;

/** The provider did not identify the user. The message is for the log. */
export class UpstreamError extends Error {
  override name = 'UpstreamError';
  /** The provider answered with an OAuth error: the user declined, or the code is wrong. */
  readonly isRejection: boolean;

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.isRejection = causesOf(cause).some((each) => typeof Object(each).error === 'string');
  }
}

/** The secrets of one round trip to a provider. Only the browser has them, sealed. */
export interface RoundTrip {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636. */
  readonly verifier: string;
  readonly maxAge?: number | undefined;
}

type Library = typeof import('openid-client');

/** With the first sign-in, because most installations have no provider. */
const loadLibrary = (): Promise<Library> => import('openid-client');

export function createUpstreamClients(dependencies: {
  readonly identity: Pick<Identity, 'sealer'>;
  readonly issuer: string;
  readonly fetchDeclared: GuardedFetch;
}) {
  const { identity, issuer, fetchDeclared } = dependencies;

  const configurations = new LRUCache<string, Configuration, Upstream>({
    max: MAXIMUM_PROVIDERS,
    ttl: METADATA_MILLISECONDS,
    // Concurrent callers share a read. A failed read is discarded.
    fetchMethod: (_key, _stale, { context: upstream }) => {
      const { clientSecret: sealed } = upstream;
      const secret = sealed && identity.sealer.open(sealed, SETTINGS_KEY);
      return configure(upstream, { secret, fetchDeclared });
    },
  });

  /** Each provider has its own, so that no other can get the code (RFC 9700 §4.4.2). */
  const redirectUri = ({ id }: Upstream) => `${issuer}/upstream/${id}/callback`;

  /** @throws UpstreamError, StoreUnavailableError */
  async function attempt<Result>(
    upstream: Upstream,
    work: (client: Client) => Promise<Result>,
  ): Promise<Result> {
    try {
      const key = JSON.stringify(upstream);
      const configuration = await configurations.fetch(key, { context: upstream });
      if (configuration === undefined) {
        throw new Error('its metadata was not read');
      }
      const client = { library: await loadLibrary(), configuration };
      return await work({ ...client, upstream, redirectUri: redirectUri(upstream) });
    } catch (error) {
      const chain = causesOf(error);
      const unavailable = chain.find((each) => each instanceof StoreUnavailableError);
      if (unavailable !== undefined) {
        throw unavailable;
      }
      throw new UpstreamError(`${upstream.id}: ${findingsOf(chain)}`, error);
    }
  }

  return {
    /**
     * The address at the provider.
     *
     * @throws UpstreamError if the metadata of the provider cannot be read
     */
    authorizationUrl: (
      upstream: Upstream,
      roundTrip: RoundTrip,
      hints: Readonly<Record<string, string>>,
    ): Promise<string> => attempt(upstream, (client) => addressFor(client, roundTrip, hints)),

    /**
     * Redeems the code of a callback. Checks `state`, `iss` (RFC 9207), the signature of the ID token
     * and its claims.
     *
     * @param query of the callback
     * @throws UpstreamError
     */
    identify: (
      upstream: Upstream,
      roundTrip: RoundTrip,
      query: URLSearchParams,
    ): Promise<UpstreamIdentity> =>
      attempt(upstream, (client) =>
        upstream.oauth === undefined
          ? identifyByIdToken(client, roundTrip, query)
          : identifyByUserinfo(client, { ...roundTrip, oauth: upstream.oauth }, query),
      ),
  };
}

async function configure(
  { issuer, oauth, clientId }: Upstream,
  {
    secret,
    fetchDeclared,
  }: { readonly secret: string | undefined; readonly fetchDeclared: GuardedFetch },
): Promise<Configuration> {
  const library = await loadLibrary();
  const guarded: CustomFetch = (address, { method, headers, body, signal }) => {
    const content = body instanceof URLSearchParams ? body.toString() : undefined;
    return fetchDeclared(address, { method: method as 'GET', headers, body: content, signal });
  };
  if (oauth !== undefined) {
    const metadata = {
      issuer: new URL(oauth.authorizationEndpoint).origin,
      authorization_endpoint: oauth.authorizationEndpoint,
      token_endpoint: oauth.tokenEndpoint,
    };
    const authentication = secret ? library.ClientSecretPost(secret) : library.None();
    const configuration = new library.Configuration(metadata, clientId, {}, authentication);
    configuration[library.customFetch] = guarded;
    return configuration;
  }
  const authenticate: ClientAuth = (server, ...exchange) => {
    const { token_endpoint_auth_methods_supported: methods = [] } = server;
    const usual = methods.includes('client_secret_post')
      ? library.ClientSecretPost
      : library.ClientSecretBasic;
    (secret ? usual(secret) : library.None())(server, ...exchange);
  };
  return library.discovery(new URL(issuer ?? ''), clientId, undefined, authenticate, {
    [library.customFetch]: guarded,
    execute: [library.enableNonRepudiationChecks],
  });
}

interface Client {
  readonly library: Library;
  readonly configuration: Configuration;
  readonly upstream: Upstream;
  readonly redirectUri: string;
}

async function addressFor(
  { library, configuration, upstream, redirectUri }: Client,
  { state, nonce, verifier, maxAge }: RoundTrip,
  hints: Readonly<Record<string, string>>,
): Promise<string> {
  const isOidc = upstream.oauth === undefined;
  const scopes = upstream.scopes ?? (isOidc ? ['openid', 'profile', 'email'] : []);
  const url = library.buildAuthorizationUrl(configuration, {
    ...hints,
    redirect_uri: redirectUri,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    state,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(isOidc && { nonce }),
    ...(maxAge !== undefined && { max_age: String(maxAge) }),
  });
  return url.href;
}

/** OpenID Connect. Userinfo adds what the ID token does not have. */
async function identifyByIdToken(
  { library, configuration, upstream, redirectUri }: Client,
  { state, nonce, verifier, maxAge }: RoundTrip,
  query: URLSearchParams,
): Promise<UpstreamIdentity> {
  const tokens = await library.authorizationCodeGrant(
    configuration,
    new URL(`${redirectUri}?${query}`),
    {
      ...{ expectedState: state, pkceCodeVerifier: verifier, expectedNonce: nonce },
      ...{ idTokenExpected: true, ...(maxAge !== undefined && { maxAge }) },
    },
  );
  const claims: Claims & { readonly sub?: string } = tokens.claims() ?? {};
  const roleClaim = upstream.roles?.claim;
  const wanted = ['name', 'email_verified', ...(roleClaim === undefined ? [] : [roleClaim])];
  const isComplete = wanted.every((each) => claims[each] !== undefined);
  const userinfo: Claims =
    isComplete || configuration.serverMetadata().userinfo_endpoint === undefined
      ? {}
      : await library.fetchUserInfo(configuration, tokens.access_token, claims.sub ?? '');
  const all = { ...userinfo, ...claims, ...addressOf(claims, userinfo) };
  return toIdentity(all, oidcMembers, roleClaim);
}

/** OAuth 2.0 without OpenID Connect: userinfo names the user. */
async function identifyByUserinfo(
  { library, configuration, upstream, redirectUri }: Client,
  { state, verifier, oauth }: RoundTrip & { readonly oauth: NonNullable<Upstream['oauth']> },
  query: URLSearchParams,
): Promise<UpstreamIdentity> {
  const known = new URLSearchParams(query);
  // Without a declared issuer, there is nothing to compare.
  known.delete('iss');
  const tokens = await library.authorizationCodeGrant(
    configuration,
    new URL(`${redirectUri}?${known}`),
    { expectedState: state, pkceCodeVerifier: verifier },
  );
  const reply = await library.fetchProtectedResource(
    ...([configuration, tokens.access_token, new URL(oauth.userinfoEndpoint), 'GET'] as const),
    undefined,
    new Headers({ accept: 'application/json' }),
  );
  if (reply.status !== 200) {
    throw new Error(`the status of userinfo is ${reply.status}`);
  }
  return toIdentity(Object(await reply.json()), oauth.members, upstream.roles?.claim);
}

/** The message of a JSON parser quotes the reply, which can contain a token. */
function findingsOf(chain: readonly Error[]): string {
  return chain
    .filter((each) => !(each instanceof SyntaxError))
    .map((each) => {
      const { error } = each as Partial<Record<'error', unknown>>;
      const isCode = typeof error === 'string' && /^\w{1,40}$/.test(error);
      return isCode ? `${each.message} (${error})` : each.message;
    })
    .join(': ')
    .slice(0, MAXIMUM_FINDING_LENGTH);
}

function causesOf(error: unknown): readonly Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}
