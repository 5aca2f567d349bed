import type { RateLimit } from '@gatehouse/store';

/** The kinds of credential a caller may send (specification: Methods A, B and C). */
export const credentialKinds = ['signature', 'access-token', 'bearer'] as const;

export type CredentialKind = (typeof credentialKinds)[number];

export const routeMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type RouteMethod = (typeof routeMethods)[number];

/** One operation. What is not in the table is 401, then 404. */
export interface Route {
  /** In logs and metrics, in place of the URL. */
  readonly operation: string;
  readonly method: RouteMethod;
  /** `{name}` stands for one segment. */
  readonly path: string;
  /** Undefined: the credential alone is enough. */
  readonly scope: string | undefined;
  readonly credentials: readonly CredentialKind[];
  /**
   * Name of the upstream, which is also the audience of the internal token. Undefined: the gateway answers
   * itself, by the name of the operation.
   */
  readonly upstream: string | undefined;
  /** From the first byte sent upstream to the last one received; of a stream, to its head. */
  readonly timeoutMilliseconds: number;
  readonly bodyLimitBytes: number;
  /** Of one client for this operation, beside its limit for all of them. */
  readonly rateLimit: RateLimit | undefined;
  /** The reply may stay open, as server-sent events do. Its signature could only be made at its end: none is. */
  readonly streaming: boolean;
  /** A verified `Upgrade: websocket` reaches the upstream. */
  readonly webSocket: boolean;
}
