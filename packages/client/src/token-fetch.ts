import { isRecord, parseEnvelope, parseJson } from '@gatehouse/signing/core';
import { assertOption, type CallOptions, type GatehouseFetch, readAddress } from './call.ts';
import { createCredentialFetch, createTokenCache, type IssuedToken } from './credential-fetch.ts';
import { failureOf, GatehouseError, requestIdOf } from './gatehouse-error.ts';
import { sendWithRetries, startDeadline } from './send-with-retries.ts';
import { createSignedFetch, type SignedFetchOptions } from './signed-fetch.ts';

export interface TokenFetchOptions extends CallOptions {
  /** `token_endpoint` of the authorization server: its address with the path `/token`. */
  readonly tokenEndpoint: string | URL;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Separated by spaces. Default: all scopes of the client. */
  readonly scope?: string;
}

/** A `fetch` with an access token of the grant `client_credentials` (RFC 6749 §4.4). */
export function createTokenFetch(options: TokenFetchOptions): GatehouseFetch {
  assertOption(options, 'clientId');
  assertOption(options, 'clientSecret');
  const url = readAddress(options, 'tokenEndpoint');
  const tokens = createTokenCache(() => requestToken(url, options));
  return createCredentialFetch(options, { name: 'Authorization', prefix: 'Bearer ' }, tokens);
}

async function requestToken(url: URL, options: TokenFetchOptions): Promise<IssuedToken> {
  const { fetch: send = globalThis.fetch, scope } = options;
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope !== undefined) {
    body.set('scope', scope);
  }
  const headers = { Authorization: basicCredentials(options) };
  const deadline = startDeadline(options.deadlineMilliseconds);
  try {
    const init = { method: 'POST', headers, body, redirect: 'manual' } as const;
    const { response } = await sendWithRetries(
      async (signal) => ({ response: await send(url, { ...init, signal }) }),
      // An access token that no program receives expires unused.
      { deadline, url, isSafe: true, repeatsLimited: () => true },
    );
    return readToken(url, response, await response.text());
  } finally {
    deadline.clear();
  }
}

/** RFC 6749 §2.3.1 encodes both parts before they are joined. */
function basicCredentials({ clientId, clientSecret }: TokenFetchOptions): string {
  return `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)}`;
}

function readToken({ origin, pathname }: URL, response: Response, text: string): IssuedToken {
  const { status } = response;
  const reply = parseJson(text);
  const { access_token, expires_in, error, error_description } = isRecord(reply) ? reply : {};
  if (response.ok && typeof access_token === 'string' && typeof expires_in === 'number') {
    return { value: access_token, expiresInSeconds: expires_in };
  }
  const isError = !response.ok && typeof error === 'string';
  throw new GatehouseError(
    isError ? error : 'invalid_token_reply',
    isError ? String(error_description ?? error) : `${origin}${pathname} sent no token.`,
    { status, requestId: requestIdOf(response) },
  );
}

export interface AccessTokenFetchOptions extends SignedFetchOptions {
  /** The lifetime of each token. Default: that of the installation. */
  readonly expiresInSeconds?: number;
}

/** A `fetch` with an X-Access-Token, which a signed request issues. Its replies are not signed. */
export function createAccessTokenFetch(options: AccessTokenFetchOptions): GatehouseFetch {
  const signedFetch = createSignedFetch(options);
  const tokens = createTokenCache(() => issueToken(signedFetch, options.expiresInSeconds));
  return createCredentialFetch(options, { name: 'X-Access-Token', prefix: '' }, tokens);
}

async function issueToken(
  signedFetch: GatehouseFetch,
  expires: number | undefined,
): Promise<IssuedToken> {
  const response = await signedFetch('/api/v1/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ expires }),
  });
  const envelope = parseEnvelope(response.status, await response.text());
  if (!response.ok) {
    throw failureOf(response, envelope);
  }
  if (typeof envelope?.result !== 'string' || typeof envelope.expires !== 'number') {
    throw new GatehouseError('invalid_token_reply', 'The gateway sent no token.');
  }
  return { value: envelope.result, expiresInSeconds: envelope.expires };
}
