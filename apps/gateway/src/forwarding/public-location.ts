/**
 * The characters of a URI reference (RFC 3986 §2). Browsers read a backslash as a slash and drop
 * tabs.
 */
const REFERENCE = /^[!#-;=?-[\]_a-z~]+$/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const ABSOLUTE = /^https?:\/\/[^/?#]/i;

/**
 * Translates the Location of an upstream to the public URL of the same resource. Returns undefined
 * for another origin: clients that follow it would send `X-Access-Token` and signatures there.
 *
 * @param context the base URLs of upstream and gateway, and path and query of the request
 */
export function publicLocation(
  value: string,
  context: Readonly<Record<'upstreamUrl' | 'publicUrl' | 'target', string>>,
): string | undefined {
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
  // Clients read a path that begins with two slashes as a host, even if removing the prefix made it
  // so.
  if (ABSOLUTE.test(value) || value.startsWith('//') || path.startsWith('//')) {
    return gateway.origin + path;
  }
  return prefix === '' && pathOf(gateway) === '' ? value : path;
}

/** Returns an empty path for a URL without a path. */
function pathOf({ pathname }: URL): string {
  return pathname === '/' ? '' : pathname;
}

function afterOrigin({ pathname, search, hash }: URL): string {
  return pathname + search + hash;
}
