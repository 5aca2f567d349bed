import { parseEnvelope } from '@gatehouse/signing/core';
import type { GatehouseFetch } from './call.ts';
import { createCredentialFetch, createTokenCache, type IssuedToken } from './credential-fetch.ts';
import { failureOf, GatehouseError } from './gatehouse-error.ts';
import { createSignedFetch, type SignedFetchOptions } from './signed-fetch.ts';

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
