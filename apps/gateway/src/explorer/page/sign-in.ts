/**
 * The authorization code flow with PKCE for a public client (RFC 6749 §4.1, RFC 7636).
 *
 * Session storage of this tab holds `state` and the verifier while the user signs in. Both are
 * useless afterwards. Tokens never leave the memory of the page.
 */
export interface SignInSettings {
  readonly authorizationServerUrl: string;
  readonly redirectUri: string;
}

interface PendingSignIn {
  readonly state: string;
  readonly verifier: string;
  readonly clientId: string;
}

export interface SignedIn {
  readonly token: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly scope: string;
}

const PENDING = 'gatehouse-explorer-sign-in';

export async function startSignIn(settings: SignInSettings, clientId: string): Promise<void> {
  const pending: PendingSignIn = { state: randomText(), verifier: randomText(), clientId };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const challenge = await crypto.subtle.digest(
    'SHA-256',
    new TextEncoder().encode(pending.verifier),
  );
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: settings.redirectUri,
    state: pending.state,
    code_challenge: base64Url(new Uint8Array(challenge)),
    code_challenge_method: 'S256',
  });
  window.location.assign(`${settings.authorizationServerUrl}/authorize?${parameters}`);
}

/**
 * Returns the reply if the address of the page contains one, and removes it from the address and
 * the history. Call it before anything that can fail.
 */
export function takeSignInReply() {
  const reply = new URLSearchParams(window.location.search);
  if (!reply.has('code') && !reply.has('error')) {
    return undefined;
  }
  window.history.replaceState(null, '', window.location.pathname);
  return { reply, pending: takePending() };
}

/** @throws Error with a sentence for the user */
export async function completeSignIn(
  settings: SignInSettings,
  { reply, pending }: NonNullable<ReturnType<typeof takeSignInReply>>,
): Promise<SignedIn> {
  // Another site can open this address with its own code (RFC 9700 §4.7).
  if (pending === undefined || reply.get('state') !== pending.state) {
    throw new Error('The sign-in did not begin in this tab. Sign in again.');
  }
  // The reply of another server must not be redeemed here (RFC 9207 §2.4).
  if (reply.get('iss') !== settings.authorizationServerUrl) {
    throw new Error('Another authorization server replied to the sign-in. Sign in again.');
  }
  const code = reply.get('code');
  if (code === null) {
    const description = reply.get('error_description') ?? '';
    throw new Error(`The sign-in failed: ${reply.get('error')}. ${description}`.trim());
  }
  return redeem(settings, pending, code);
}

async function redeem(
  { authorizationServerUrl, redirectUri }: SignInSettings,
  { verifier, clientId }: PendingSignIn,
  code: string,
): Promise<SignedIn> {
  const response = await fetch(`${authorizationServerUrl}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      code_verifier: verifier,
    }),
    credentials: 'omit',
    redirect: 'error',
  }).catch(() => {
    throw new Error(
      'The browser did not get the token. The client must register the origin of this page for CORS.',
    );
  });
  const { access_token, expires_in, scope, error, error_description } = await response.json();
  if (!response.ok || typeof access_token !== 'string') {
    throw new Error(`The sign-in failed: ${error}. ${error_description ?? ''}`.trim());
  }
  const expiresAt = Date.now() + Number(expires_in) * 1000;
  return { token: access_token, expiresAt, scope: String(scope ?? '') };
}

/** Each pending sign-in can be completed once. */
function takePending(): PendingSignIn | undefined {
  const text = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  return text === null ? undefined : JSON.parse(text);
}

function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
