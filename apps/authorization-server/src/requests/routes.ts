import { observedRequest } from '@gatehouse/server';
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
  'stylesheet',
  'script',
  'icon',
  'welcome',
  'authorize',
  'authorize-resume',
  'sign-in',
  'account',
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
  return (request, _response, next) => {
    request.headers.host = host;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    delete request.headers['x-forwarded-host'];
    next();
  };
}
