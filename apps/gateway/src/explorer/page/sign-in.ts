/**
 * The authorization code flow with PKCE for a public client (RFC 6749 §4.1, RFC 7636).
 *
 * Session storage of this tab holds a pending sign-in, which is useless afterwards. Tokens never
 * leave the memory of the page.
 */
type SignInSettings = Readonly<Record<'authorizationUrl' | 'tokenUrl' | 'redirectUri', string>>;

/** With the operation that the page showed, and the fragment of its address. */
type PendingSignIn = Readonly<
  Record<'state' | 'verifier' | 'clientId' | 'operation' | 'fragment', string>
>;

const PENDING = 'gatehouse-explorer-sign-in';

export async function startSignIn(
  { authorizationUrl, redirectUri }: SignInSettings,
  clientId: string,
  operation: string,
): Promise<void> {
  if (new URL(redirectUri).origin !== window.location.origin) {
    throw new Error(`Open the explorer at ${redirectUri}. The sign-in returns only there.`);
  }
  const state = crypto.randomUUID();
  const verifier = crypto.randomUUID() + crypto.randomUUID();
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: base64Url(challenge),
    code_challenge_method: 'S256',
  });
  const fragment = window.location.hash.slice(1);
  const pending: PendingSignIn = { state, verifier, clientId, operation, fragment };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  window.location.assign(`${authorizationUrl}?${parameters}`);
}

/**
 * Returns the reply if the address of the page contains one, and removes it from the address and
 * the history. Call it before anything that can fail. Each pending sign-in can be completed once.
 */
export function takeSignInReply() {
  const reply = new URLSearchParams(window.location.search);
  if (!reply.has('code') && !reply.has('error')) {
    return undefined;
  }
  window.history.replaceState(null, '', window.location.pathname);
  const text = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  return { reply, pending: text === null ? undefined : (JSON.parse(text) as PendingSignIn) };
}

/** Returns the access token. @throws Error with a sentence for the user */
export async function completeSignIn(
  { authorizationUrl, tokenUrl, redirectUri }: SignInSettings,
  { reply, pending }: NonNullable<ReturnType<typeof takeSignInReply>>,
): Promise<string> {
  // Another site can open this address with its own code (RFC 9700 §4.7).
  if (pending === undefined || reply.get('state') !== pending.state) {
    throw new Error('The sign-in did not begin in this tab. Sign in again.');
  }
  // The reply of another server must not be redeemed here (RFC 9207 §2.4).
  if (`${reply.get('iss')}/authorize` !== authorizationUrl) {
    throw new Error('Another authorization server replied to the sign-in. Sign in again.');
  }
  const code = reply.get('code');
  if (code === null) {
    throw failure(Object.fromEntries(reply));
  }
  const response = await fetch(tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: pending.clientId,
      code_verifier: pending.verifier,
    }),
    credentials: 'omit',
    redirect: 'error',
  }).catch(() => {
    throw new Error(
      'The browser did not get the token. The client must register the origin of this page for CORS.',
    );
  });
  const result = await response.json();
  if (!response.ok || typeof result.access_token !== 'string') {
    throw failure(result);
  }
  return result.access_token;
}

function failure({ error, error_description = '' }: Readonly<Record<string, string>>): Error {
  return new Error(`The sign-in failed: ${error}. ${error_description}`.trim());
}

function base64Url(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
