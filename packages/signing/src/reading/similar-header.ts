/** Names that callers use by mistake, and the header that they meant. */
const meant: ReadonlyMap<string, string> = new Map([
  ...[
    'Access-Token',
    'Access_Token',
    'Api-Key',
    'Auth',
    'Auth-Token',
    'Authentication',
    'Bearer',
    'Token',
    'X-Api-Key',
    'X-Auth-Token',
    'X-Authorization',
    'X-Token',
  ].map((name) => [name, 'Authorization: Bearer'] as const),
  ...['X_Access_Token', 'X-AccessToken', 'XAccessToken'].map(
    (name) => [name, 'X-Access-Token'] as const,
  ),
  ...['Sign', 'Signature', 'X-Signature', 'X_Sign', 'XSign'].map(
    (name) => [name, 'X-Sign'] as const,
  ),
]);

const names: ReadonlyMap<string, string> = new Map(
  [...meant.keys()].map((name) => [name.toLowerCase(), name]),
);

/** A header that no server reads, but whose name resembles that of a credential. */
export interface SimilarHeader {
  readonly name: string;
  readonly meant: string;
}

/** Looks for a misnamed credential in a request without one. */
export function similarHeader(rawHeaders: readonly string[]): SimilarHeader | undefined {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = names.get((rawHeaders[index] ?? '').toLowerCase());
    if (name !== undefined) {
      return { name, meant: meant.get(name) ?? '' };
    }
  }
  return undefined;
}
