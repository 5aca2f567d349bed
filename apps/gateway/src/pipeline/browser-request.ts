/**
 * The facts in a request of a browser: its cookies, whether it opens a page, and whether the
 * application caused it. Also what the service learns about the user.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError, type FailureReasonName } from '@gatehouse/errors';
import { type BrowserHost, originOf } from '@gatehouse/identity';
import { bearerChallenge } from '../messages.ts';
import type { Exchange } from './exchange.ts';

/**
 * Only a navigation of the browser shows a sign-in page. A script would follow the redirect and fail
 * with an error of CORS, and a redirected POST would lose its body.
 */
export function isNavigation({ method, message: { headers } }: Exchange): boolean {
  const mode = headers['sec-fetch-mode'];
  const isDocument =
    mode === undefined
      ? headers.accept?.includes('text/html') === true && headers['x-requested-with'] === undefined
      : mode === 'navigate' && headers['sec-fetch-dest'] === 'document';
  const isPage = method === 'GET' && !isWebSocket(headers) && isDocument;
  return isPage && headers['sec-purpose'] === undefined;
}

/**
 * The browser sends the cookie with requests that other sites cause, `SameSite=Lax` even with those
 * of sibling hosts. A change and a WebSocket must come from the application itself.
 *
 * @throws ApiError `access_denied`
 */
export function assertOwnRequest({ method, message: { headers } }: Exchange, browser: BrowserHost) {
  const changes = !['GET', 'HEAD', 'OPTIONS'].includes(method) || isWebSocket(headers);
  if (changes && !isOwnRequest(headers, browser)) {
    throw refusal('access_denied', 'browser_request_foreign');
  }
}

/** Some proxies omit `Upgrade` when they ask. */
const isWebSocket = (headers: IncomingHttpHeaders) =>
  headers.upgrade !== undefined || headers['sec-websocket-key'] !== undefined;

/** Browsers without Fetch Metadata send `Origin` with every change and every WebSocket. */
export function isOwnRequest(headers: IncomingHttpHeaders, { host }: BrowserHost): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined
    ? headers.origin === originOf(host)
    : site === 'same-origin' || site === 'none';
}

export function refusal(
  code: 'unauthorized' | 'access_denied',
  reason: FailureReasonName,
): ApiError {
  return new ApiError(code, { headers: bearerChallenge(), reason });
}

/**
 * Sibling hosts cannot set a cookie with the prefix `__Host-`, which needs `Secure` (RFC 6265bis
 * §4.1.3).
 */
export function cookieNames({ host }: BrowserHost) {
  const prefix = isSecure(host) ? '__Host-' : '';
  return { session: `${prefix}gatehouse`, signIn: `${prefix}gatehouse-sign-in` } as const;
}

const isSecure = (host: string) => originOf(host).startsWith('https:');

export function setCookie(
  { host }: BrowserHost,
  name: string,
  value: string,
  lifetime = '',
): string {
  const secure = isSecure(host) ? '; Secure' : '';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${secure}${lifetime}`;
}

function cookiesOf({ cookie = '' }: IncomingHttpHeaders) {
  // Not `trim`: a sibling host can set a cookie whose name is a no-break space and `__Host-…`.
  return cookie.split(/;[ \t]*/).map((text) => {
    const [name = ''] = text.split('=', 1);
    return { text, name, value: text.slice(name.length + 1) };
  });
}

/** Undefined if the cookie was sent twice: one of them may be from another host. */
export function readCookie(headers: IncomingHttpHeaders, wanted: string): string | undefined {
  const [found, other] = cookiesOf(headers).filter(({ name }) => name === wanted);
  return other === undefined ? found?.value : undefined;
}

function otherCookies(headers: IncomingHttpHeaders, browser: BrowserHost): string {
  const own: readonly string[] = Object.values(cookieNames(browser));
  return cookiesOf(headers)
    .filter(({ name, text }) => text !== '' && !own.includes(name))
    .map(({ text }) => text)
    .join('; ');
}

/** What the service learns about the user in addition, and the cookies of the application. */
export function browserHeaders({ message, browser, verified }: Exchange): readonly string[] {
  if (browser === undefined) {
    return [];
  }
  const { user } = verified?.principal ?? {};
  const facts = {
    'X-Auth-User': user && headerText(user.username),
    'X-Auth-Email': user?.emailVerified ? user.email && headerText(user.email) : undefined,
    'X-Auth-Roles': user?.roles.map((role) => headerText(role).replaceAll(',', '%2C')).join(','),
    // Not empty: some proxies then keep the header of the caller, with the session.
    Cookie: otherCookies(message.headers, browser) || 'gatehouse=removed',
  };
  // Caddy 2.6 passes on a text of its own in place of a header that is missing.
  return Object.entries(facts).flatMap(([name, value = '']) => [name, value]);
}

/** Printable ASCII without `%`. Other characters are percent-encoded (UTF-8). */
function headerText(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x24\x26-\x7e]/gu, encodeURIComponent);
}
