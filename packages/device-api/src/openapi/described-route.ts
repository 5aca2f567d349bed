import type { OperationName } from '../routes.ts';

/** The operation that the gateway implements itself (operation 4 of the specification). */
export const issueAccessToken = 'access-token.issue';

/** The operations that the document describes. */
export type DescribedOperation = OperationName | typeof issueAccessToken;

/** A served route of the device API. */
export interface DescribedRoute {
  readonly operation: DescribedOperation;
  readonly method: string;
  /** `{name}` matches one segment. */
  readonly path: string;
  /** Undefined: every authenticated caller may use the route. */
  readonly scope: string | undefined;
  /** The kinds of credential that the route accepts. */
  readonly credentials: readonly ('signature' | 'access-token' | 'bearer')[];
}
