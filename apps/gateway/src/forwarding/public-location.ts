export interface LocationContext {
  /** Base URL of the service. */
  readonly upstreamUrl: string;
  /** The gateway's own base URL. */
  readonly publicUrl: string;
  /** Path and query of the request. */
  readonly target: string;
}

/** Of a URI reference (RFC 3986 §2). Browsers read a backslash as a slash, and drop tabs. */
const REFERENCE = /^[!#-;=?-[\]_a-z~]+$/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const ABSOLUTE = /^https?:\/\/[^/?#]/i;

/**
 * What a caller may learn of a service's Location: the public URL of the same resource, or undefined. Another
 * origin is withheld: clients that follow it send `X-Access-Token` and signatures along, which no client strips.
 */
export function publicLocation(value: string, context: LocationContext): string | undefined {
  if (!REFERENCE.test(value) || (SCHEME.test(value) && !ABSOLUTE.test(value))) {
    return undefined;
  }
  const service = new URL(context.upstreamUrl);
  const gateway = new URL(context.publicUrl);
  const prefix = pathOf(service);
  const request = service.origin + prefix + context.target;
  if (!URL.canParse(value, request)) {
    return undefined;
  }
  const url = new URL(value, request);
  if (ABSOLUTE.test(value) && url.origin === gateway.origin) {
    return gateway.origin + afterOrigin(url);
  }
  if (url.origin !== service.origin || !`${url.pathname}/`.startsWith(`${prefix}/`)) {
    return undefined;
  }
  const inside = afterOrigin(url).slice(prefix.length);
  const path = pathOf(gateway) + (inside.startsWith('/') ? inside : `/${inside}`);
  // A path that begins with two slashes would be read as another host, also where it does so only without the prefix.
  if (ABSOLUTE.test(value) || value.startsWith('//') || path.startsWith('//')) {
    return gateway.origin + path;
  }
  return prefix === '' && pathOf(gateway) === '' ? value : path;
}

/** Without the slash of a URL that has no path. */
function pathOf({ pathname }: URL): string {
  return pathname === '/' ? '' : pathname;
}

function afterOrigin({ pathname, search, hash }: URL): string {
  return pathname + search + hash;
}
