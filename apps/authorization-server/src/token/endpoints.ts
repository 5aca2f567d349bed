/** The endpoints that clients call, mounted in app.ts. Their replies are JSON. */
import { createRegisteredOrigins, type Identity } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import type { SecurityProfile } from '../provider/clients.ts';
import type { Provider } from '../provider/create-provider.ts';
import { failureOf } from '../provider/errors.ts';
import { contextOf } from '../requests/request-context.ts';
import { clientEndpointPaths, operation, providerRoutes as routes } from '../requests/routes.ts';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import type { Limits } from '../throttle/limits.ts';
import { allowRegisteredOrigins } from './cors.ts';
import { createMachineTokenIssuer, serveMachineTokens } from './machine-token-fast-path.ts';
import { continueAtToken, fromPlatform, jsonOrForm, PLATFORM_TOKEN_PATH } from './platform.ts';
import { failureText, replyHeaders } from './replies.ts';
import { createClientEndpoint, writeTransportError } from './transport.ts';

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
];

interface ClientEndpointDependencies {
  readonly provider: Provider;
  readonly identity: Identity;
  readonly limits: Limits;
  readonly failedSecrets: FailedSecrets;
  readonly securityProfile: SecurityProfile;
}

export function addClientEndpoints(
  app: Express,
  serve: RequestHandler,
  dependencies: ClientEndpointDependencies,
): void {
  const { provider, identity, limits, failedSecrets, securityProfile } = dependencies;
  const { audit, clients } = identity;
  const origins = createRegisteredOrigins(clients);
  const postFromBrowser = allowRegisteredOrigins(origins, 'POST');
  const readFromBrowser = allowRegisteredOrigins(origins, 'GET, POST');
  const limit = limits.clientEndpoints;
  const endpoint = createClientEndpoint(identity);
  const issue = createMachineTokenIssuer(provider, { failedSecrets, clients, securityProfile });
  const machineTokens = serveMachineTokens(issue, audit);

  for (const path of discoveryPaths) {
    app.get(path, operation('discovery'), serve);
  }
  app.get(routes.jwks, operation('jwks'), serve);
  app.all(routes.token, operation('token'), postFromBrowser, limit, endpoint, machineTokens, serve);
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
  app.use([...clientPaths], rejectUnknownPaths);
}

export function rejectLimitedClient(request: Request, response: Response): void {
  const description = 'Too many requests from this address. Try again later.';
  void writeTransportError(request, response, {
    status: 429,
    error: 'too_many_requests',
    reason: 'request_limit',
    description,
  });
}

/**
 * Clients get JSON for a path below an endpoint, such as `/token/`, and for a wrong method of a
 * document. It is mounted at the paths of the endpoints, after their routes.
 */
const rejectUnknownPaths: RequestHandler = (request, response) => {
  const endpoint = request.baseUrl;
  contextOf(request).isPlatform = endpoint === PLATFORM_TOKEN_PATH;
  const [path] = request.originalUrl.split('?', 1);
  void writeTransportError(
    request,
    response,
    path === endpoint
      ? {
          status: 405,
          error: 'invalid_request',
          reason: 'method_not_allowed',
          description: 'This endpoint answers GET only.',
          headers: { Allow: 'GET, HEAD' },
        }
      : {
          status: 404,
          error: 'invalid_request',
          reason: 'not_found',
          description: `There is no such endpoint. Its path is ${endpoint}.`,
        },
  );
};

/** OpenID Connect Core §5.3: GET and POST, with a bearer token; errors are JSON. */
const userinfoEndpoint: RequestHandler = (request, response, next) => {
  request.headers.accept = 'application/json';
  if (request.method === 'GET' || request.method === 'POST') {
    response.set('Cache-Control', 'no-store');
    next();
    return;
  }
  const { notes } = observedRequest(request);
  notes.code = 'invalid_request';
  notes.reason = 'method_not_allowed';
  response.status(405).set({ Allow: 'GET, POST', 'Cache-Control': 'no-store' }).end();
};

/** Errors before the provider are JSON at these endpoints as well. The cause goes to the log. */
export const handleClientEndpointErrors: ErrorRequestHandler = (error, request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  if (request.socket.destroyed) {
    // The caller disconnected within the body.
    return;
  }
  const { status, code, reason, description } = failureOf(error);
  Object.assign(observedRequest(request).notes, { code, reason, err: error });
  response.status(status).set({ ...replyHeaders, 'Retry-After': '1', Connection: 'close' });
  response.end(failureText(request, status, { error: code, error_description: description }));
};
