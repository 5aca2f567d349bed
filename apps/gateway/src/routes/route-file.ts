import { readFileSync } from 'node:fs';
import { DEFAULT_BODY_LIMIT_BYTES } from '@gatehouse/device-api';
import {
  acrValues,
  isDeviceScope,
  resourceIdentifier,
  role,
  type Settings,
  scopeName,
} from '@gatehouse/identity';
import { baseUrl, ConfigurationError, toProblems } from '@gatehouse/server/configuration';
import { credentialKinds } from '@gatehouse/signing';
import { z } from 'zod';
import type { UpstreamAddress } from '../upstream/upstream.ts';
import {
  DEFAULT_TIMEOUT_MILLISECONDS,
  deviceRoutes,
  deviceService,
  identityOf,
  type Route,
  routeMethods,
  userClaims,
} from './route.ts';

/** The routes of the gateway and their upstreams. */
export interface Routing {
  readonly routes: readonly Route[];
  /** By name. The device service is always included. */
  readonly upstreams: ReadonlyMap<string, UpstreamAddress>;
}

/** Without a token the device service answers 401, which also shows that it works. */
const DEVICE_SERVICE_HEALTH = '/live';

const MEBIBYTE = 1024 * 1024;
const name = z
  .string()
  .regex(/^[a-z][a-z0-9.-]{0,62}$/, 'must be lower-case letters, digits, . or -');

/** Segments without percent-encoding, or parameters. No dot segments, no trailing slash. */
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))(?:[A-Za-z0-9_.~-]+|\{[A-Za-z][A-Za-z0-9]*\}))+$/;

const healthPath = z
  .string()
  .regex(PATH, 'must be /segments of plain letters')
  .refine((path) => !path.includes('{'), 'must be /segments of plain letters');

/**
 * Headers with which a caller could confuse the framing, claim an identity, an address, another
 * host, path or method, or disclose a credential to the upstream. Also those that only the gateway
 * sets. Other spellings, such as `X_User_Id`, are not names of headers here.
 */
const FORBIDDEN_HEADER = new RegExp(
  [
    // Hop-by-hop headers (RFC 9110 §7.6.1), framing, handshakes and CORS.
    '^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|host|http2-settings)$',
    '^content-(?:length|encoding|type)$|^(?:proxy|sec|access-control)-',
    // Proxies and overrides.
    '^via$|forwarded|method|^(?:x-)?remote-|^x-(?:original|rewrite|envoy|gatehouse)-',
    '(?:^|-)(?:ip|host|url|uri|scheme|proto|port)$',
    // Headers of the gateway.
    '^x-(?:sign|nonce|timestamp|request-id|failure)(?:-|$)',
    // Identities and credentials.
    '(?:^|-)(?:user(?!-agent$)|client|consumer|subject|principal|identity|account|tenant|org|email)',
    '(?:^|-)(?:claim|group|role|scope)s?(?:-|$)|(?<!^mcp-)session|oidc|saml|cert|assertion',
    'auth|cookie|token|jwt|secret|password|credential|api-?key',
  ].join('|'),
);

const requestHeader = z
  .string()
  .toLowerCase()
  .regex(/^[a-z][a-z0-9-]{0,63}$/, 'must be the name of a header: letters, digits and -')
  .refine(
    (header) => !FORBIDDEN_HEADER.test(header),
    'must not be a hop-by-hop header, a credential, an identity, or a header that the gateway or a proxy sets',
  );

const routeEntry = z
  .strictObject({
    operation: name,
    method: z.enum(routeMethods),
    path: z.string().regex(PATH, 'must be /segments of plain letters or {parameters}'),
    /** Of the device API or a declared resource: `resolveRoutes` checks it. */
    scope: scopeName,
    resource: resourceIdentifier.optional(),
    roles: z.array(role).max(50).default([]),
    acr: z.enum(acrValues).optional(),
    maxAge: z.int().min(1).optional(),
    claims: z.array(z.string()).max(50).default([]),
    credentials: z.array(z.enum(credentialKinds)).min(1).optional(),
    upstream: name.default(deviceService),
    timeoutSeconds: z
      .number()
      .positive()
      .max(300)
      .default(DEFAULT_TIMEOUT_MILLISECONDS / 1000),
    bodyLimitBytes: z
      .int()
      .min(0)
      .max(1024 * MEBIBYTE)
      .default(DEFAULT_BODY_LIMIT_BYTES),
    requestHeaders: z.array(requestHeader).max(32).default([]),
    rateLimit: z
      .strictObject({ requests: z.int().min(1), windowSeconds: z.int().min(1).max(86_400) })
      .optional(),
    streaming: z.boolean().default(false),
    webSocket: z.boolean().default(false),
  })
  .refine((route) => !isOpenEnded(route) || route.credentials?.includes('signature') !== true, {
    path: ['credentials'],
    message:
      'must not have "signature" on a streaming or webSocket route: its reply could not be signed',
  })
  .refine((route) => !route.webSocket || (route.method === 'GET' && !route.streaming), {
    path: ['webSocket'],
    message: 'must be on a GET route that is not streaming',
  });

const routeFile = z
  .strictObject({
    /** False: only the routes of the file. Otherwise they extend or replace the built-in routes. */
    builtIn: z.boolean().default(true),
    upstreams: z
      .record(name, z.strictObject({ url: baseUrl, health: healthPath.optional() }))
      .default({}),
    routes: z.array(routeEntry),
  })
  .superRefine(({ routes, upstreams }, { addIssue }) => {
    const identities = routes.map(identityOf);
    for (const [index, { upstream }] of routes.entries()) {
      if (upstream !== deviceService && !Object.hasOwn(upstreams, upstream)) {
        const path = ['routes', index, 'upstream'];
        addIssue({ code: 'custom', path, message: 'names an undefined upstream' });
      }
      if (identities.indexOf(identities[index] ?? '') < index) {
        const message = 'matches the same requests as an earlier route';
        addIssue({ code: 'custom', path: ['routes', index], message });
      }
    }
  });

type RouteFile = z.infer<typeof routeFile>;
type RouteEntry = RouteFile['routes'][number];

/**
 * Combines the routes and upstreams of the built-in table and of the file.
 *
 * @throws ConfigurationError with every problem of the file at once
 */
export function loadRouting(
  path: string | undefined,
  deviceServiceAddress: Pick<UpstreamAddress, 'url' | 'socketPath'>,
): Routing {
  const builtInUpstream: [string, UpstreamAddress] = [
    deviceService,
    { ...deviceServiceAddress, health: DEVICE_SERVICE_HEALTH },
  ];
  if (path === undefined) {
    return { routes: deviceRoutes, upstreams: new Map([builtInUpstream]) };
  }
  const file = readRouteFile(path);
  const upstreams = new Map([builtInUpstream, ...Object.entries(file.upstreams)]);
  const own = new Set(file.routes.map(identityOf));
  const kept = file.builtIn ? deviceRoutes.filter((route) => !own.has(identityOf(route))) : [];
  return { routes: [...file.routes.map(toRoute), ...kept], upstreams };
}

/**
 * Sets the resource of each route, from the resources that operators declare.
 *
 * @throws ConfigurationError that names every scope, resource, role and claim that is not declared
 */
export function resolveRoutes({ routes }: Pick<Routing, 'routes'>, settings: Settings): void {
  const problems = routes.flatMap((route) => {
    const { operation, scope = '', roles, claims } = route;
    const declared = settings.scopes.get(scope)?.resource.resource;
    const isKnown = declared !== undefined || isDeviceScope(scope) || route.scope === undefined;
    const unknownClaim = claims.find(
      (each) => !userClaims.has(each) && !Object.hasOwn(settings.userAttributes, each),
    );
    const unknownRole = roles.find((each) => !settings.roles.has(each));
    const isOther = route.resource !== undefined && route.resource !== declared;
    route.resource = declared;
    return [
      ...(isKnown ? [] : [`the scope ${scope}, which no resource declares`]),
      ...(isKnown && isOther ? [`the scope ${scope} of another resource`] : []),
      ...(unknownClaim === undefined ? [] : [`the unknown claim ${unknownClaim}`]),
      ...(unknownRole === undefined ? [] : [`the role ${unknownRole}, which is not declared`]),
    ].map((message) => ({
      name: `ROUTES_FILE route ${operation}`,
      message: `names ${message}`,
    }));
  });
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
}

function readRouteFile(path: string): RouteFile {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    const message = 'names a file that cannot be read as JSON';
    throw new ConfigurationError([{ name: 'ROUTES_FILE', message }]);
  }
  const parsed = routeFile.safeParse(content);
  if (!parsed.success) {
    const problems = toProblems(parsed.error);
    throw new ConfigurationError(
      problems.map((problem) => ({ ...problem, name: `ROUTES_FILE ${problem.name}`.trim() })),
    );
  }
  return parsed.data;
}

function toRoute(entry: RouteEntry): Route {
  const { timeoutSeconds, rateLimit, credentials, ...route } = entry;
  const usual = credentialKinds.filter((kind) => kind !== 'signature' || !isOpenEnded(entry));
  return {
    ...route,
    resource: entry.resource,
    credentials: credentials ?? usual,
    timeoutMilliseconds: timeoutSeconds * 1000,
    rateLimit,
  };
}

function isOpenEnded(route: Pick<Route, 'streaming' | 'webSocket'>): boolean {
  return route.streaming || route.webSocket;
}
