/**
 * Returns whether a URL is a loopback address. All other addresses are production: https, `__Host-`
 * cookies, no demo, and no key files that other users can read.
 */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
