/**
 * What the gateway serves: the routes, and the documents that need no credential. One router of
 * `packages/server` finds the entry of a request. `ROUTES_FILE` adds routes (route-file).
 */
import type { IncomingMessage } from 'node:http';
import { DEFAULT_BODY_LIMIT_BYTES, routes } from '@gatehouse/device-api';
import type { acrValues, Principal, Scope } from '@gatehouse/identity';
import { pathShape, type RouterMatch } from '@gatehouse/server';
import { type CredentialKind, credentialKinds } from '@gatehouse/signing';
import type { RateLimit } from '@gatehouse/store';
import type { Reply } from '../messages.ts';

export const routeMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/**
 * The claims of a user that a route can ask for, in addition to declared attributes, and where they
 * come from.
 */
export const userClaims = new Map<string, (principal: Principal) => unknown>([
  ['preferred_username', ({ user }) => user?.username],
  ['name', ({ user }) => user?.name],
  ['email', ({ user }) => user?.email],
  ['email_verified', ({ user }) => user?.emailVerified],
  ['roles', ({ user }) => user?.roles],
  ['auth_time', ({ signIn }) => signIn?.authTime],
  ['acr', ({ signIn }) => signIn?.acr],
  ['amr', ({ signIn }) => signIn?.amr],
]);

/** One operation. For an unknown path, callers get 401, and 404 after authentication. */
export interface Route {
  /** Replaces the URL in logs and metrics. */
  readonly operation: string;
  readonly method: (typeof routeMethods)[number];
  /** `{name}` matches one segment. */
  readonly path: string;
  /** Undefined: every authenticated caller may use the route. */
  readonly scope: string | undefined;
  /**
   * Identifies the API that tokens must be for. Undefined: the device API. `resolveRoutes` sets it
   * to the resource of the scope.
   */
  resource: string | undefined;
  /** Only users with one of these roles may use the route. Empty: all users, and machines. */
  readonly roles: readonly string[];
  /** Only users who signed in so strongly, or more strongly, may use the route. */
  readonly acr?: (typeof acrValues)[number] | undefined;
  /** Only users who signed in within these seconds may use the route. */
  readonly maxAge?: number | undefined;
  /** Claims of the user in the internal token: `userClaims` or declared attributes. */
  readonly claims: readonly string[];
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

/** A document that needs no credential. */
export interface PublicEntry {
  readonly method: 'GET';
  readonly path: string;
  /** The name of its requests in logs and metrics. */
  readonly operation: (typeof ownOperations)[number];
  /** Describes a document of JSON in `/openapi.json`. */
  readonly description?: {
    readonly summary: string;
    /** The JSON Schema of the document, or of the result in its envelope. */
    readonly schema?: Readonly<Record<string, unknown>>;
    readonly result?: Readonly<Record<string, unknown>>;
  };
  /** The reply to a GET of the path. @throws ApiError `not_found` */
  read(message: Pick<IncomingMessage, 'headers'>, path: string): Reply | Promise<Reply>;
}

export type Entry = Route | PublicEntry;

export type RouteMatch = RouterMatch<Entry> | undefined;

/** The route of a match, unless it is a public document. */
export function routeOf(match: RouteMatch): Route | undefined {
  const entry = match?.entry;
  return entry === undefined || 'read' in entry ? undefined : entry;
}

/**
 * What the principal lacks to use the route. Checked at each request, and again while a reply stays
 * open.
 */
export function missingRight(
  { scope, roles }: Pick<Route, 'scope' | 'roles'>,
  { scopes, user }: Pick<Principal, 'scopes' | 'user'>,
): 'scope' | 'role' | undefined {
  if (scope !== undefined && !scopes.has(scope)) {
    return 'scope';
  }
  const hasRole = roles.length === 0 || roles.some((role) => user?.roles.includes(role));
  return hasRole ? undefined : 'role';
}

/** Routes with the same identity match the same requests. */
export function identityOf({ method, path }: Pick<Route, 'method' | 'path'>): string {
  return `${method} ${pathShape(path)}`;
}

/** Name of the device service in the routes, and the audience of the tokens that it accepts. */
export const deviceService = 'device-service';
export const DEFAULT_TIMEOUT_MILLISECONDS: number = 15_000;
/** The operation of a verification for another proxy that does not use the routes. */
export const forwardAuthOperation = 'forward-auth';

/** Operations that are not routes, in logs and metrics. */
export const ownOperations = [
  forwardAuthOperation,
  'preflight',
  'protected-resource',
  'openapi',
  'explorer',
  'time',
] as const;

/** Of routes that no file describes. */
export const commonOfRoutes = {
  resource: undefined,
  roles: [],
  claims: [],
  credentials: credentialKinds,
  upstream: deviceService,
  timeoutMilliseconds: DEFAULT_TIMEOUT_MILLISECONDS,
  requestHeaders: [],
  rateLimit: undefined,
  streaming: false,
  webSocket: false,
} satisfies Partial<Route>;

/** The routes that the gateway serves without a `ROUTES_FILE`. */
export const deviceRoutes: readonly Route[] = [
  ...routes.map(({ method, path, operation }): Route => {
    // The type rejects a scope that no client can get.
    const scope: Scope = operation.scope;
    const bodyLimitBytes = operation.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES;
    return { ...commonOfRoutes, operation: operation.name, method, path, scope, bodyLimitBytes };
  }),
  {
    ...commonOfRoutes,
    operation: 'access-token.issue',
    method: 'POST',
    path: '/api/v1/token',
    scope: undefined,
    credentials: ['signature'],
    upstream: undefined,
    bodyLimitBytes: 4096,
  },
];

const MAXIMUM_DESCRIBED = 100;
const MAXIMUM_CHARACTERS = 200;

/** For operators: the first routes, in the terms of `ROUTES_FILE`. */
export function describeRoutes(all: readonly Route[]) {
  const first = all.slice(0, MAXIMUM_DESCRIBED).map((route) => {
    const { method, path, upstream, scope, resource, roles, acr, maxAge, credentials } = route;
    const isForAll = credentials.length === credentialKinds.length;
    const lists = { roles: roles.join(', '), credentials: isForAll ? '' : credentials.join(', ') };
    const requirements = Object.entries({ scope, resource, acr, maxAge, ...lists })
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([name, value]) => `${name}: ${value}`);
    const origin: 'default' | 'file' = deviceRoutes.includes(route) ? 'default' : 'file';
    return {
      route: `${method} ${path}`.slice(0, MAXIMUM_CHARACTERS),
      requires: requirements.join('; ').slice(0, MAXIMUM_CHARACTERS),
      ...{ upstream, origin },
    };
  });
  return { count: all.length, first };
}
