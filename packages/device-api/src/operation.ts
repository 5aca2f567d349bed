import type { z } from 'zod';
import type { DeviceScope } from './device-scopes.ts';

export type OperationMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** One operation of the device API. Every combination of its methods and paths reaches it. */
export interface Operation<Name extends string = string> {
  /** Logs and metrics show this name instead of a URL. */
  readonly name: Name;
  readonly scope: DeviceScope;
  readonly methods: readonly OperationMethod[];
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
}

const MEBIBYTE = 1024 * 1024;

export const DEFAULT_BODY_LIMIT_BYTES: number = MEBIBYTE;

/** A batch of 10,000 devices fits. */
export const BATCH_BODY_LIMIT_BYTES: number = 16 * MEBIBYTE;
