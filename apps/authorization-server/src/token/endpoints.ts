/** The endpoints that clients call, mounted in app.ts. Their replies are JSON. */
import type { Identity } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import { failureOf } from '../requests/failures.ts';
import { contextOf } from '../requests/request-context.ts';
import {
  allowRegisteredOrigins,
  clientEndpointPaths,
  operation,
  REGISTRATION_PATH,
  providerRoutes as routes,
} from '../requests/routes.ts';
import type { Limits } from '../throttle/limits.ts';
import { continueAtToken, fromPlatform, jsonOrForm, PLATFORM_TOKEN_PATH } from './platform.ts';
import { createRegistration } from './registration.ts';
import { writeTransportError } from './replies.ts';
import { createClientEndpoint } from './transport.ts';

const discoveryPaths = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
] as const;

/** Errors at these paths, and at paths below them, are JSON. */
export const clientPaths: readonly string[] = [
  ...clientEndpointPaths,
  ...discoveryPaths,
  PLATFORM_TOKEN_PATH,
  routes.userinfo,
  routes.jwks,
  REGISTRATION_PATH,
];

/** @param machineTokens the fast path of client_credentials */
export function addClientEndpoints(
  app: Express,
  serve: RequestHandler,
  {
    identity,
    issuer,
    limits,
    machineTokens,
  }: {
    readonly identity: Identity;
    readonly issuer: string;
    readonly limits: Limits;
    readonly machineTokens: RequestHandler;
  },
): void {
  const postFromBrowser = allowRegisteredOrigins(identity.clients, 'POST');
  const readFromBrowser = allowRegisteredOrigins(identity.clients, 'GET, POST');
  const limit = limits.clientEndpoints;
  const endpoint = createClientEndpoint(identity);

  for (const path of discoveryPaths) {
    app.get(path, operation('discovery'), serve);
  }
  app.get(routes.jwks, operation('jwks'), serve);
  app.all(routes.token, operation('token'), postFromBrowser, limit, machineTokens, endpoint, serve);
  app.all(
    PLATFORM_TOKEN_PATH,
    operation('platform-token'),
    fromPlatform,
    limit,
    createClientEndpoint(identity, jsonOrForm),
    continueAtToken,
    serve,
  );
  app.all(routes.revocation, operation('revoke'), postFromBrowser, limit, endpoint, serve);
  app.all(routes.introspection, operation('introspect'), limits.introspection, endpoint, serve);
  app.all(routes.pushed_authorization_request, operation('par'), limit, endpoint, serve);
  app.all(routes.device_authorization, operation('device-authorization'), limit, endpoint, serve);
  app.all(routes.userinfo, operation('userinfo'), readFromBrowser, userinfoEndpoint, serve);
  app.use(REGISTRATION_PATH, operation('register'), limit, createRegistration(identity, issuer));
  app.use([...clientPaths], rejectUnknownPaths);
}

export function rejectLimitedClient(request: Request, response: Response): void {
  const description = 'Too many requests from this address. Try again later.';
  const error = 'too_many_requests';
  const failure = { status: 429, error, reason: 'request_limit', description } as const;
  void writeTransportError(request, response, failure);
}

/**
 * Clients get JSON for a path below an endpoint, such as `/token/`, and for a wrong method of a
 * document. It is mounted at the paths of the endpoints, after their routes.
 */
const rejectUnknownPaths: RequestHandler = (request, response) => {
  const { baseUrl: endpoint, originalUrl } = request;
  contextOf(request).isPlatform = endpoint === PLATFORM_TOKEN_PATH;
  if (originalUrl.split('?', 1)[0] === endpoint) {
    const description = 'This endpoint answers GET only.';
    const failure = { status: 405, reason: 'method_not_allowed', description } as const;
    void writeTransportError(request, response, { ...failure, headers: { Allow: 'GET, HEAD' } });
  } else {
    const description = `There is no such endpoint. Its path is ${endpoint}.`;
    void writeTransportError(request, response, { status: 404, reason: 'not_found', description });
  }
};

/** OpenID Connect Core §5.3: GET and POST, with a bearer token; errors are JSON. */
const userinfoEndpoint: RequestHandler = (request, response, next) => {
  request.headers.accept = 'application/json';
  response.set('Cache-Control', 'no-store');
  if (request.method === 'GET' || request.method === 'POST') {
    next();
    return;
  }
  const { notes } = observedRequest(request);
  Object.assign(notes, { code: 'invalid_request', reason: 'method_not_allowed' });
  response.status(405).set('Allow', 'GET, POST').end();
};

/** Errors before the provider are JSON at these endpoints as well. The cause goes to the log. */
export const handleClientEndpointErrors: ErrorRequestHandler = (error, request, response, next) => {
  if (response.headersSent) {
    next(error);
  } else if (!request.socket.destroyed) {
    const { code, ...failure } = failureOf(error);
    observedRequest(request).notes.err = error;
    const headers = { 'Retry-After': '1' };
    void writeTransportError(request, response, { ...failure, error: code, headers });
  }
};
