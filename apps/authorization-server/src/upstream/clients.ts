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
import { z } from 'zod';
import type { GuardedFetch } from '../guarded-fetch.ts';
import { UpstreamFailure } from './failures.ts';
import { type Claims, oidcMembers, toIdentity, type UpstreamIdentity } from './identity.ts';

/** Discovered metadata and keys are read again after this time. */
const METADATA_MILLISECONDS = 30 * 60_000;
const MAXIMUM_PROVIDERS = 100;
/** How much earlier than ours the clock of a provider may be. */
export const CLOCK_SECONDS = 60;
/** In the log. */
const MAXIMUM_FINDING_LENGTH = 300;

/** What one request to a provider must match. Only the browser has it, sealed. */
export const providerRequest = z.object({
  state: z.string(),
  nonce: z.string(),
  /** RFC 7636. */
  verifier: z.string(),
  maxAge: z.number().optional(),
  /** The application asked for a new sign-in (`prompt=login`). */
  isFresh: z.boolean(),
  /** Epoch seconds. */
  at: z.number(),
});

type ProviderRequest = Readonly<z.infer<typeof providerRequest>>;

interface UpstreamClient {
  /** Loaded with the first sign-in, because most installations have no provider. */
  readonly library: typeof import('openid-client');
  readonly configuration: Configuration;
  readonly upstream: Upstream;
  readonly redirectUri: string;
}

export function createUpstreamClients(dependencies: {
  readonly identity: Pick<Identity, 'sealer'>;
  readonly issuer: string;
  readonly fetchDeclared: GuardedFetch;
}) {
  const { identity, issuer, fetchDeclared } = dependencies;

  const clients = new LRUCache<string, UpstreamClient, Upstream>({
    max: MAXIMUM_PROVIDERS,
    ttl: METADATA_MILLISECONDS,
    // Concurrent callers share a read. A failed read is discarded.
    fetchMethod: async (_key, _stale, { context: upstream }) => {
      const library = await import('openid-client');
      const { clientSecret: sealed } = upstream;
      const secret = sealed && identity.sealer.open(sealed, SETTINGS_KEY);
      const configuration = await configure(library, upstream, secret, fetchDeclared);
      // Each provider has its own, so that no other can get the code (RFC 9700 §4.4.2).
      const redirectUri = `${issuer}/upstream/${upstream.id}/callback`;
      return { library, configuration, upstream, redirectUri };
    },
  });

  /**
   * Does the work with a provider.
   *
   * @throws UpstreamFailure, StoreUnavailableError
   */
  return async <Result>(
    upstream: Upstream,
    work: (client: UpstreamClient) => Promise<Result>,
  ): Promise<Result> => {
    try {
      const key = JSON.stringify(upstream);
      return await work(await clients.forceFetch(key, { context: upstream }));
    } catch (error) {
      const chain = causesOf(error);
      // An OAuth error of the provider: the user declined, or the code is wrong.
      const isRejection = chain.some((each) => typeof Object(each).error === 'string');
      const status = isRejection ? 400 : 502;
      const page = { status, error: 'upstreamFailed', reason: 'upstream_failed' } as const;
      throw (
        chain.find((each) => each instanceof StoreUnavailableError) ??
        new UpstreamFailure(`${upstream.id}: ${findingsOf(chain)}`, page, error)
      );
    }
  };
}

async function configure(
  library: UpstreamClient['library'],
  { issuer, oauth, clientId }: Upstream,
  secret: string | undefined,
  fetchDeclared: GuardedFetch,
): Promise<Configuration> {
  const guarded: CustomFetch = (address, { method, headers, body, signal }) => {
    const content = body instanceof URLSearchParams ? body.toString() : undefined;
    return fetchDeclared(address, { method: method as 'GET', headers, body: content, signal });
  };
  const authenticate: ClientAuth = (server, ...exchange) => {
    const { token_endpoint_auth_methods_supported: methods = [] } = server;
    const usual = methods.includes('client_secret_post')
      ? library.ClientSecretPost
      : library.ClientSecretBasic;
    (secret ? usual(secret) : library.None())(server, ...exchange);
  };
  if (oauth === undefined) {
    return library.discovery(new URL(issuer ?? ''), clientId, undefined, authenticate, {
      [library.customFetch]: guarded,
      execute: [library.enableNonRepudiationChecks],
    });
  }
  const metadata = {
    issuer: new URL(oauth.authorizationEndpoint).origin,
    authorization_endpoint: oauth.authorizationEndpoint,
    token_endpoint: oauth.tokenEndpoint,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  };
  const configuration = new library.Configuration(metadata, clientId, {}, authenticate);
  configuration[library.customFetch] = guarded;
  return configuration;
}

/** The address at the provider. */
export async function addressFor(
  { library, configuration, upstream, redirectUri }: UpstreamClient,
  { state, nonce, verifier, maxAge, isFresh }: ProviderRequest,
  loginHint: string | undefined,
): Promise<string> {
  const isOidc = upstream.oauth === undefined;
  const scopes = upstream.scopes ?? (isOidc ? ['openid', 'profile', 'email'] : []);
  const url = library.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    state,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(isOidc && { nonce }),
    ...(maxAge !== undefined && { max_age: String(maxAge) }),
    ...(isFresh && { prompt: 'login' }),
    ...(loginHint !== undefined && { login_hint: loginHint }),
  });
  return url.href;
}

/**
 * Redeems the code of a callback. Checks `state`, `iss` (RFC 9207), the signature of the ID token and
 * its claims.
 *
 * @param query of the callback
 */
export async function identify(
  { library, configuration, upstream, redirectUri }: UpstreamClient,
  { state, nonce, verifier, maxAge, isFresh, at }: ProviderRequest,
  query: URLSearchParams,
): Promise<UpstreamIdentity> {
  const { oauth, roles } = upstream;
  const callback = new URL(`${redirectUri}?${query}`);
  if (oauth !== undefined) {
    // Without a declared issuer, there is nothing to compare.
    callback.searchParams.delete('iss');
  }
  const tokens = await library.authorizationCodeGrant(configuration, callback, {
    ...{ expectedState: state, pkceCodeVerifier: verifier },
    ...(oauth === undefined && { expectedNonce: nonce, idTokenExpected: true }),
    ...(maxAge !== undefined && { maxAge }),
  });
  if (oauth !== undefined) {
    const reply = await library.fetchProtectedResource(
      ...([configuration, tokens.access_token, new URL(oauth.userinfoEndpoint), 'GET'] as const),
      undefined,
      new Headers({ accept: 'application/json' }),
    );
    if (reply.status !== 200) {
      throw new Error(`the status of userinfo is ${reply.status}`);
    }
    return toIdentity(Object(await reply.json()), oauth.members, roles?.claim);
  }
  const claims: Claims & { readonly sub?: string } = tokens.claims() ?? {};
  if (isFresh && Number(claims.auth_time ?? Infinity) < at - CLOCK_SECONDS) {
    throw new Error('the provider did not ask the user to sign in again');
  }
  // Userinfo adds what the ID token does not have.
  const wanted = ['name', 'email_verified', roles?.claim ?? 'sub'];
  const isComplete =
    wanted.every((each) => claims[each] !== undefined) ||
    configuration.serverMetadata().userinfo_endpoint === undefined;
  const userinfo: Claims = isComplete
    ? {}
    : await library.fetchUserInfo(configuration, tokens.access_token, claims.sub ?? '');
  const all = { ...userinfo, ...claims };
  // An address is verified only where it is named.
  const named = [claims, userinfo].find((each) => each.email && each.email_verified !== undefined);
  const { email, email_verified } = named ?? { email: all.email, email_verified: false };
  return toIdentity({ ...all, email, email_verified }, oidcMembers, roles?.claim);
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
