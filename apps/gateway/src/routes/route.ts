/** The kinds of credential a caller may send (specification: Methods A, B and C). */
export type CredentialKind = 'signature' | 'access-token' | 'bearer';

export type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One operation that the gateway forwards. What is not in the table is 401, then 404. */
export interface Route {
  /** In logs and metrics, in place of the URL. */
  readonly operation: string;
  readonly method: RouteMethod;
  /** `{name}` stands for one segment. */
  readonly path: string;
  readonly scope: string;
  readonly credentials: readonly CredentialKind[];
  /** Name of the upstream, which is also the audience of the internal token. */
  readonly upstream: string;
  /** From the first byte sent upstream to the last one received. */
  readonly timeoutMilliseconds: number;
  readonly bodyLimitBytes: number;
}
