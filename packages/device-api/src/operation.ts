import type { z } from 'zod';

/** The scopes of the operations on devices. */
export const deviceScopes = ['device:read', 'device:write', 'device:log', 'device:report'] as const;

/** One operation of the device API. Every combination of its methods and paths reaches it. */
export interface Operation<Name extends string = string> {
  /** Logs and metrics show this name instead of a URL. */
  readonly name: Name;
  readonly scope: (typeof deviceScopes)[number];
  readonly methods: readonly ('GET' | 'POST' | 'PATCH' | 'DELETE')[];
  /** `{name}` matches one segment. */
  readonly paths: readonly string[];
  /**
   * The JSON body. A list query that uses GET has the same members as parameters. Undefined: the
   * operation accepts no body.
   */
  readonly request?: z.ZodType;
  /** The `result` of a successful reply. Undefined: the reply has none. */
  readonly reply?: z.ZodType;
  /**
   * `DEFAULT_BODY_LIMIT_BYTES` if undefined. The handler of the device service sets the same limit.
   */
  readonly bodyLimitBytes?: number;
  /** The group in the OpenAPI document. */
  readonly tag: 'Devices' | 'Tags' | 'Logs' | 'Products' | 'Tokens';
  readonly summary: string;
  readonly description?: string;
  /** Query parameters that `request` does not describe (openapi/components.ts). */
  readonly parameters?: readonly string[];
  /** A body and the `result` of its reply. */
  readonly example: { readonly request?: unknown; readonly result?: unknown };
}

/** By name. routes.ts adds the group. */
export type OperationEntries = Readonly<Record<string, Omit<Operation, 'name' | 'tag'>>>;

const MEBIBYTE = 1024 * 1024;

export const DEFAULT_BODY_LIMIT_BYTES: number = MEBIBYTE;

/** A batch of 10,000 devices fits. */
export const BATCH_BODY_LIMIT_BYTES: number = 16 * MEBIBYTE;

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

/**
 * Words at the place of an id in a path. A device or product with such an id would be unreachable
 * there, so none can be created.
 */
export const reservedDeviceIds: readonly string[] = ['_query', '_count', '_deploy', '_delete'];
export const reservedProductIds: readonly string[] = ['_query'];

export function reservedRule(words: readonly string[]): string {
  return `must not be a word that the paths of the API use: ${words.join(', ')}`;
}
