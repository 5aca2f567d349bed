/**
 * The `form-action` source for the redirect after a form: the origin of the client's redirect URI.
 * The custom scheme of an app has no origin, so the scheme itself is the source.
 */
export function formTargets(redirectUri: unknown): readonly string[] {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  if (url === null) {
    return [];
  }
  // Browsers accept no IPv6 address as a source, so the scheme is used.
  const hasOrigin = url.origin !== 'null' && !url.hostname.startsWith('[');
  return [hasOrigin ? url.origin : url.protocol];
}
