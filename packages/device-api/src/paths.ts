/** The specification and existing clients use different paths for the same resource. */
export const deviceCollectionPaths = ['/device/instance', '/device-instance'] as const;

export const devicePaths = [
  '/api/v1/device/{deviceId}',
  '/device/instance/{deviceId}',
  '/device-instance/{deviceId}',
] as const;

/**
 * Words at the place of an id in a path. A device or product with such an id would be unreachable
 * there, so none can be created.
 */
export const reservedDeviceIds: readonly string[] = ['_query', '_count', '_deploy', '_delete'];
export const reservedProductIds: readonly string[] = ['_query'];

export function reservedRule(words: readonly string[]): string {
  return `must not be a word that the paths of the API use: ${words.join(', ')}`;
}

/** Each path with each suffix. */
export function withSuffixes(
  paths: readonly string[],
  ...suffixes: readonly string[]
): readonly string[] {
  return suffixes.flatMap((suffix) => paths.map((path) => path + suffix));
}
