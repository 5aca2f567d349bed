import type { FailureReasonName } from '@gatehouse/errors';

/** Compares the parts in the order in which they occur. */
const parts = [
  ['redirect_uri_other_scheme', (url: URL) => url.protocol],
  ['redirect_uri_other_host', (url: URL) => url.hostname],
  ['redirect_uri_other_port', (url: URL) => url.port],
  ['redirect_uri_other_path', (url: URL) => url.pathname],
  ['redirect_uri_other_query', (url: URL) => `${url.search} ${url.hash}`],
] as const satisfies readonly (readonly [FailureReasonName, (url: URL) => string])[];

/** How a redirect URI differs from the one that it must equal. */
export function redirectUriDifference(expected: string, sent: string): FailureReasonName {
  if (expected.toLowerCase() === sent.toLowerCase()) {
    return 'redirect_uri_letter_case';
  }
  const [wanted, given] = [URL.parse(expected), URL.parse(sent)];
  if (wanted === null || given === null) {
    return 'redirect_uri_differs';
  }
  const different = parts.filter(([, partOf]) => partOf(wanted) !== partOf(given));
  const [first, ...others] = different;
  if (first === undefined) {
    return 'redirect_uri_encoding';
  }
  if (others.length > 0) {
    return 'redirect_uri_differs';
  }
  const [name] = first;
  const hasOtherSlash =
    name === 'redirect_uri_other_path' &&
    withoutSlash(wanted.pathname) === withoutSlash(given.pathname);
  return hasOtherSlash ? 'redirect_uri_trailing_slash' : name;
}

/** The difference from the most similar of the registered redirect URIs. */
export function registrationDifference(
  registered: readonly string[],
  sent: string,
): FailureReasonName {
  const found = registered.map((uri) => redirectUriDifference(uri, sent));
  return (
    found.find((reason) => reason !== 'redirect_uri_differs') ??
    found[0] ??
    'redirect_uri_unregistered'
  );
}

function withoutSlash(path: string): string {
  return path.replace(/\/$/, '');
}
