/** The specification and existing clients use different paths for the same resource. */
export const deviceCollectionPaths = ['/device/instance', '/device-instance'] as const;

export const devicePaths = [
  '/api/v1/device/{deviceId}',
  '/device/instance/{deviceId}',
  '/device-instance/{deviceId}',
] as const;

/** Each path with each suffix. */
export function withSuffixes(
  paths: readonly string[],
  ...suffixes: readonly string[]
): readonly string[] {
  return suffixes.flatMap((suffix) => paths.map((path) => path + suffix));
}
