/** The specification and existing clients use different paths for the same resource. */
export const collections = ['/device/instance', '/device-instance'] as const;

export const items = [
  '/api/v1/device/{deviceId}',
  '/device/instance/{deviceId}',
  '/device-instance/{deviceId}',
] as const;

export function below(paths: readonly string[], ...suffixes: readonly string[]): readonly string[] {
  return suffixes.flatMap((suffix) => paths.map((path) => path + suffix));
}
