import type { RateLimit } from '@gatehouse/store';

/** The kinds of credential that a caller may send: Methods A, B and C of the specification. */
export const credentialKinds = ['signature', 'access-token', 'bearer'] as const;

export type CredentialKind = (typeof credentialKinds)[number];

export const routeMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type RouteMethod = (typeof routeMethods)[number];

/** One operation. For an unknown path, callers get 401, and 404 after authentication. */
export interface Route {
  /** Replaces the URL in logs and metrics. */
  readonly operation: string;
  readonly method: RouteMethod;
  /** `{name}` matches one segment. */
  readonly path: string;
  /** Undefined: every authenticated caller may use the route. */
  readonly scope: string | undefined;
  readonly credentials: readonly CredentialKind[];
  /**
   * Name of the upstream, which is also the audience of the internal token. Undefined: the gateway
   * implements the operation itself.
   */
  readonly upstream: string | undefined;
  /**
   * From the first byte sent upstream to the last one received. For a stream, to the end of the
   * head.
   */
  readonly timeoutMilliseconds: number;
  readonly bodyLimitBytes: number;
  /** Further headers that the gateway forwards, in lowercase. */
  readonly requestHeaders: readonly string[];
  /** Per client for this operation, in addition to the client's limit for all operations. */
  readonly rateLimit: RateLimit | undefined;
  /** The reply may stay open, as with server-sent events. It is not signed. */
  readonly streaming: boolean;
  /** The gateway forwards `Upgrade: websocket`. */
  readonly webSocket: boolean;
}
