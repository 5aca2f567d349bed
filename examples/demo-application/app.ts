/**
 * A minimal third-party application. Its home page starts the browser sign-in. It receives the
 * redirect, redeems the code, and lists the devices of the user through the gateway.
 *
 * It is a demonstration on loopback. A real application also needs PKCE and a `state` per browser.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import { type PageContent, renderPage } from './page.ts';

export interface DemoApplicationSettings {
  readonly clientId: string;
  readonly secureKey: string;
  readonly redirectUri: string;
  readonly authorizationServerUrl: string;
  readonly gatewayUrl: string;
  /** The authorization server's address for browsers. */
  readonly issuer: string;
}

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const MAXIMUM_FORM_BYTES = 4096;
const COOKIE = 'demo-application';
const MAXIMUM_SESSIONS = 100;

/** A credential of the user was rejected. Signing in again helps. */
class RejectedError extends Error {
  override readonly name = 'RejectedError';
}

export function createApp(settings: DemoApplicationSettings): RequestListener {
  const answer = createAnswer(settings);
  return (request, response) => {
    void answer(request).then(({ status, headers, body }) => {
      response.writeHead(status, {
        'Content-Type': 'text/html; charset=utf-8',
        'Cache-Control': 'no-store',
        'Referrer-Policy': 'no-referrer',
        'Content-Security-Policy':
          "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        ...headers,
      });
      response.end(body);
    });
  };
}

function createAnswer(settings: DemoApplicationSettings) {
  const callback = new URL(settings.redirectUri);
  const sessions = createBrowserSessions();
  const signInAddress = signInAddressOf(settings);

  function page(status: number, content: Omit<PageContent, 'signInAddress'>): Reply {
    return { status, body: renderPage({ signInAddress, ...content }) };
  }

  async function home(request: IncomingMessage): Promise<Reply> {
    const session = sessions.find(request.headers.cookie);
    if (session === undefined) {
      return page(200, {});
    }
    const { accessToken, expiresInSeconds, scope } = session;
    const reply = await listDevices(accessToken, settings.gatewayUrl);
    // Even a page on loopback never shows a whole credential.
    const token = { beginning: accessToken.slice(0, 6), expiresInSeconds, scope };
    return page(200, { result: { reply, token, accountAddress: `${settings.issuer}/account` } });
  }

  function receiveCode(request: IncomingMessage, parameters: URLSearchParams): Reply {
    const error = parameters.get('error');
    const code = parameters.get('code');
    if (error !== null) {
      const failure = `The sign-in failed: ${error}: ${parameters.get('error_description') ?? ''}`;
      return page(200, { failure });
    }
    if (code === null || code === '') {
      return page(400, { failure: 'There is no authorization code in this address.' });
    }
    return code === sessions.find(request.headers.cookie)?.code ? toHome() : page(200, { code });
  }

  async function redeem(request: IncomingMessage): Promise<Reply> {
    const code = (await readForm(request)).get('code') ?? '';
    // A second redemption would revoke the access token (RFC 6749 §4.1.2).
    if (code === sessions.find(request.headers.cookie)?.code) {
      return toHome();
    }
    const token = await redeemCode(code, settings);
    return toHome({ 'Set-Cookie': sessions.start({ code, ...token }) });
  }

  async function route(request: IncomingMessage): Promise<Reply> {
    const { pathname, searchParams } = new URL(request.url ?? '', callback);
    const route = `${request.method} ${pathname}`;
    if (route === 'GET /') {
      return home(request);
    }
    if (route === `GET ${callback.pathname}`) {
      return receiveCode(request, searchParams);
    }
    return route === `POST ${callback.pathname}`
      ? redeem(request)
      : page(404, { failure: 'This page does not exist.' });
  }

  return async (request: IncomingMessage): Promise<Reply> => {
    try {
      return await route(request);
    } catch (error) {
      return error instanceof RejectedError
        ? page(400, { failure: error.message })
        : page(502, { failure: 'Gatehouse does not reply. Check that it is running.' });
    }
  };
}

/** After this redirect, a reload of the page does not redeem the code again. */
function toHome(headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 303, headers: { Location: '/', ...headers } };
}

function signInAddressOf({ issuer, clientId, redirectUri }: DemoApplicationSettings): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state: 'demo',
  });
  return `${issuer}/authorize?${query}`;
}

async function readForm(request: AsyncIterable<Buffer>): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of request) {
    text += chunk.toString('utf8');
    if (text.length > MAXIMUM_FORM_BYTES) {
      break;
    }
  }
  return new URLSearchParams(text);
}

/**
 * Redeems the code for an access token (RFC 6749 §4.1.3).
 *
 * @throws RejectedError when the authorization server rejects the code
 */
async function redeemCode(code: string, settings: DemoApplicationSettings): Promise<Token> {
  const { clientId, secureKey, redirectUri, authorizationServerUrl } = settings;
  const credentials = [clientId, secureKey].map(encodeURIComponent).join(':');
  const reply = await fetch(`${authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(credentials)}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
    }),
  });
  const token = (await reply.json()) as Record<string, unknown>;
  if (!reply.ok || typeof token.access_token !== 'string') {
    throw new RejectedError(
      `The authorization server rejected the code: ${token.error} (${token.error_description})`,
    );
  }
  const { access_token: accessToken, expires_in, scope } = token;
  return { accessToken, expiresInSeconds: Number(expires_in), scope: String(scope ?? '') };
}

/**
 * Lists the devices of the user through the gateway.
 *
 * @returns the gateway's reply
 * @throws RejectedError when the access token has expired or was revoked
 */
async function listDevices(accessToken: string, gatewayUrl: string): Promise<unknown> {
  const reply = await fetch(`${gatewayUrl}/api/device`, {
    headers: { Authorization: `Bearer ${accessToken}` },
  });
  if (reply.status === 401) {
    throw new RejectedError('The gateway does not accept the access token anymore.');
  }
  return reply.json();
}

interface Token {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly scope: string;
}

/** The result of a sign-in. The browser gets only its id, in a cookie. */
interface BrowserSession extends Token {
  readonly code: string;
}

/** Keeps the sessions in memory, so a restart of the application ends them. */
function createBrowserSessions() {
  const sessions = new Map<string, BrowserSession>();
  return {
    find(cookieHeader = ''): BrowserSession | undefined {
      const pair = cookieHeader.split('; ').find((each) => each.startsWith(`${COOKIE}=`));
      return sessions.get(pair?.slice(COOKIE.length + 1) ?? '');
    },
    /** @returns the value of `Set-Cookie` */
    start(session: BrowserSession): string {
      const id = randomBytes(32).toString('base64url');
      sessions.set(id, session);
      const [oldest = ''] = sessions.keys();
      if (sessions.size > MAXIMUM_SESSIONS) {
        sessions.delete(oldest);
      }
      return `${COOKIE}=${id}; HttpOnly; SameSite=Lax; Path=/`;
    },
  };
}
