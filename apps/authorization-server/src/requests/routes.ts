import type { RequestListener } from 'node:http';
import type { ClientRegistry } from '@gatehouse/identity';
import { messageProblem, observedRequest } from '@gatehouse/server';
import type { Express, RequestHandler } from 'express';
import express from 'express';

/** The paths of the provider's endpoints. app.ts passes no other path to the provider. */
export const providerRoutes = {
  authorization: '/authorize',
  token: '/token',
  revocation: '/revoke',
  introspection: '/introspect',
  pushed_authorization_request: '/par',
  device_authorization: '/device/auth',
  code_verification: '/device',
  userinfo: '/userinfo',
  jwks: '/jwks',
  end_session: '/logout',
} as const;

/** Dynamic client registration. The provider does not serve it. */
export const REGISTRATION_PATH = '/register';

/** Pages that work without a session. Mails contain links to three of them. */
export const CREATE_ACCOUNT_PATH = '/create-account';
export const FORGOT_PASSWORD_PATH = '/forgot-password';
export const RESET_PASSWORD_PATH = '/reset-password';
export const VERIFY_EMAIL_PATH = '/verify-email';

/** The endpoints that clients call with their own credentials. */
export const clientEndpointPaths: readonly string[] = [
  providerRoutes.token,
  providerRoutes.revocation,
  providerRoutes.introspection,
  providerRoutes.pushed_authorization_request,
  providerRoutes.device_authorization,
];

/** The names of the routes in log and metrics. A path could hold a code, so it is never logged. */
export const operationNames = [
  'discovery',
  'jwks',
  'token',
  'platform-token',
  'revoke',
  'introspect',
  'par',
  'device-authorization',
  'userinfo',
  'register',
  'stylesheet',
  'script',
  'icon',
  'brand-file',
  'language',
  'welcome',
  'authorize',
  'authorize-resume',
  'sign-in',
  'account',
  'upstream-callback',
  'reset-password',
  'forgot-password',
  'verify-email',
  'create-account',
  'device',
  'device-resume',
  'logout',
  'logout-confirm',
  'logged-out',
] as const;

export type OperationName = (typeof operationNames)[number];

/** Sets the request's name in the log and in metrics. */
export function operation(name: OperationName): RequestHandler {
  return (request, _response, next) => {
    observedRequest(request).notes.operation = name;
    next();
  };
}

/**
 * CORS for the origins that clients registered (RFC 9700 §2.6). A preflight names no client, so the
 * origin of any client passes. The provider checks the request itself against its own client.
 */
const PREFLIGHT_SECONDS = '600';

/**
 * Precedes an endpoint that browser applications call. An unregistered origin is treated as absent.
 */
export function allowRegisteredOrigins(
  clients: Pick<ClientRegistry, 'hasOrigin'>,
  methods: string,
): RequestHandler {
  return async (request, response, next) => {
    const { origin } = request.headers;
    const registered = origin !== undefined && (await clients.hasOrigin(origin));
    if (!registered) {
      delete request.headers.origin;
    }
    if (request.method !== 'OPTIONS') {
      next();
      return;
    }
    response.set('Vary', 'Origin');
    if (registered) {
      response.set({
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': 'Authorization, Content-Type',
        'Access-Control-Max-Age': PREFLIGHT_SECONDS,
      });
    }
    response.set('Allow', `${methods}, OPTIONS`).status(204).end();
  };
}

/** Matches paths exactly, and adds no header of its own. */
export function createExactRouting(trustedProxies: readonly string[]): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', [...trustedProxies]);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  return app;
}

/**
 * The provider builds URLs from Host and X-Forwarded-*, which a caller controls. They are replaced
 * with the issuer's values before anything reads them (RFC 8414 §3.3).
 */
export function fixOrigin(issuer: string): RequestHandler {
  const { host, protocol } = new URL(issuer);
  return (request, response, next) => {
    // Of every reply, JSON included: browsers must not guess it.
    response.setHeader('X-Content-Type-Options', 'nosniff');
    request.headers.host = host;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    delete request.headers['x-forwarded-host'];
    next();
  };
}

/** RFC 9112 §3.2: a request to a server that is not a proxy names a path. */
const targetProblem = {
  property: 'The request target',
  message: 'must be a path that begins with `/`',
  reason: 'target_invalid',
} as const;

/**
 * Rejects requests that two parsers could read differently, before a router or URL parser sees
 * them.
 */
export function rejectDoubtfulRequests(application: RequestListener): RequestListener {
  return (request, response) => {
    const hasPath = request.url?.startsWith('/') === true;
    const problem = messageProblem(request) ?? (hasPath ? undefined : targetProblem);
    if (problem === undefined) {
      application(request, response);
      return;
    }
    const { property, message, reason } = problem;
    const code = 'invalid_request';
    Object.assign(observedRequest(request).notes, { code, reason });
    response.writeHead(400, {
      'Content-Type': 'application/json;charset=UTF-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Connection: 'close',
    });
    response.end(JSON.stringify({ error: code, error_description: `${property} ${message}.` }));
  };
}
