/**
 * The console as an OAuth client of the authorization server: pushed requests, PKCE, refresh,
 * revocation and sign-out. The browser sees none of the tokens.
 */
import { CONSOLE_CLIENT_ID, operatorScopes, TWO_FACTORS } from '@gatehouse/identity';
import type { Configuration, CustomFetch } from 'openid-client';
import * as library from 'openid-client';

/** The secrets of one sign-in. Only the browser has them, sealed. */
export interface RoundTrip {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636. */
  readonly verifier: string;
}

export interface Tokens {
  readonly accessToken: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
}

/** The authorization server does not answer, or its answer is useless. */
export class IssuerUnavailableError extends Error {
  override name = 'IssuerUnavailableError';
}

/** The authorization server rejects a code or a token, or the user declined. */
export class IssuerRejectionError extends Error {
  override name = 'IssuerRejectionError';
  /** The OAuth error code, if there is one. */
  readonly code: unknown;

  constructor(message: string, code: unknown, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const TIMEOUT_SECONDS = 5;
const scope = ['openid', 'profile', ...operatorScopes].join(' ');

export type Issuer = ReturnType<typeof createIssuer>;

export function createIssuer(settings: {
  readonly issuer: string;
  /** Where the console reaches the authorization server, without a trailing slash. */
  readonly internalUrl: string;
  readonly consoleUrl: string;
  readonly clientSecret: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { consoleUrl, now } = settings;
  const redirectUri = `${consoleUrl}/callback`;
  let configuration: Promise<Configuration> | undefined;

  /** Reads the metadata once. A failure is not kept. */
  async function ask<Result>(work: (known: Configuration) => Promise<Result>): Promise<Result> {
    configuration ??= discover(settings).catch((error: unknown) => {
      configuration = undefined;
      throw error;
    });
    return configuration.then(work).catch((error: unknown) => {
      throw translated(error);
    });
  }

  const toTokens = (reply: Awaited<ReturnType<typeof library.refreshTokenGrant>>): Tokens => ({
    accessToken: reply.access_token,
    expiresAt: now() + (reply.expires_in ?? 0) * 1000,
    refreshToken: reply.refresh_token,
    idToken: reply.id_token,
  });

  return {
    newRoundTrip: (): RoundTrip => ({
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    }),

    /**
     * @param isFresh the user enters the credentials again
     * @returns the address of the sign-in page
     * @throws IssuerUnavailableError
     */
    begin: ({ state, nonce, verifier }: RoundTrip, isFresh: boolean): Promise<URL> =>
      ask(async (known) =>
        library.buildAuthorizationUrlWithPAR(known, {
          ...{ redirect_uri: redirectUri, scope, state, nonce, acr_values: TWO_FACTORS },
          code_challenge: await library.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(isFresh && { prompt: 'login' }),
        }),
      ),

    /**
     * Redeems the code of a callback. Checks `state`, `iss` (RFC 9207) and the ID token.
     *
     * @throws IssuerRejectionError, IssuerUnavailableError
     */
    redeem: ({ state, nonce, verifier }: RoundTrip, query: string): Promise<Tokens> =>
      ask(async (known) =>
        toTokens(
          await library.authorizationCodeGrant(known, new URL(`${redirectUri}?${query}`), {
            ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier },
            idTokenExpected: true,
          }),
        ),
      ),

    /** @throws IssuerRejectionError if the sign-in has ended, IssuerUnavailableError */
    refresh: (refreshToken: string): Promise<Tokens> =>
      ask(async (known) => toTokens(await library.refreshTokenGrant(known, refreshToken))),

    /** Ends the tokens of a session. @throws IssuerUnavailableError */
    revoke: (token: string): Promise<void> => ask((known) => library.tokenRevocation(known, token)),

    /** Where the browser signs out of the authorization server, and returns. */
    signOutUrl: (idToken: string): Promise<URL> =>
      ask(async (known) =>
        library.buildEndSessionUrl(known, {
          id_token_hint: idToken,
          post_logout_redirect_uri: `${consoleUrl}/signed-out`,
        }),
      ),
  };
}

async function discover({
  issuer,
  internalUrl,
  clientSecret,
}: Parameters<typeof createIssuer>[0]): Promise<Configuration> {
  const viaInternalUrl: CustomFetch = (address, options) =>
    fetch(
      address.startsWith(`${issuer}/`) ? internalUrl + address.slice(issuer.length) : address,
      // A redirect could lead the client secret elsewhere.
      { ...options, redirect: 'error' } as RequestInit,
    );
  const known = await library.discovery(
    new URL(issuer),
    CONSOLE_CLIENT_ID,
    undefined,
    library.ClientSecretBasic(clientSecret),
    {
      [library.customFetch]: viaInternalUrl,
      timeout: TIMEOUT_SECONDS,
      // The configuration of the authorization server accepts http on loopback addresses only.
      execute: issuer.startsWith('http:') ? [library.allowInsecureRequests] : [],
    },
  );
  library.enableNonRepudiationChecks(known);
  return known;
}

/** An OAuth error is a rejection, except for those that the server sends while it is unavailable. */
function translated(error: unknown): Error {
  const { error: code, status = 400, message } = Object(error);
  const transient = ['server_error', 'temporarily_unavailable'];
  const isRejection = typeof code === 'string' && status < 500 && !transient.includes(code);
  return isRejection || isProtocolError(error)
    ? new IssuerRejectionError(String(message), code, error)
    : new IssuerUnavailableError('The authorization server did not answer.', { cause: error });
}

/** Such as a wrong `state`, or a code that another server issued. */
const isProtocolError = (error: unknown) =>
  error instanceof library.ClientError && String(error.code).startsWith('OAUTH_INVALID_RESPONSE');
