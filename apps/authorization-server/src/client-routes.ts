/** The endpoints that clients call, mounted in app.ts. Their replies are JSON. */
import { createRegisteredOrigins, type Identity } from '@gatehouse/identity';
import type { Express, Request, RequestHandler, Response } from 'express';
import { auditedEndpoint } from './client-endpoints/audited-endpoint.ts';
import { rejectUnknownPaths } from './client-endpoints/reject-unknown-paths.ts';
import { serveMachineTokens } from './client-endpoints/serve-machine-tokens.ts';
import { clientEndpoint, writeTransportError } from './client-endpoints/transport.ts';
import { userinfoEndpoint } from './client-endpoints/userinfo.ts';
import { allowRegisteredOrigins } from './cors/registered-origins.ts';
import { createMachineTokenIssuer } from './grants/machine-token-issuer.ts';
import { operation } from './http/operation.ts';
import { clientEndpointPaths, providerRoutes as routes } from './http/provider-routes.ts';
import {
  fromPlatform,
  PLATFORM_TOKEN_PATH,
  platformEndpoint,
} from './platform/platform-endpoint.ts';
import type { Provider } from './provider/create-provider.ts';
import type { SecurityProfile } from './provider/policy/grant-types.ts';
import type { FailedSecrets } from './throttle/failed-secrets.ts';
import type { Limits } from './throttle/limits.ts';

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
  const endpoint = auditedEndpoint(identity, clientEndpoint);
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
    auditedEndpoint(identity, platformEndpoint),
    serve,
  );
  app.all(routes.revocation, operation('revoke'), postFromBrowser, limit, endpoint, serve);
  app.all(routes.introspection, operation('introspect'), limits.introspection, endpoint, serve);
  app.all(routes.pushed_authorization_request, operation('par'), limit, endpoint, serve);
  app.all(routes.device_authorization, operation('device-authorization'), limit, endpoint, serve);
  app.all(routes.userinfo, operation('userinfo'), readFromBrowser, userinfoEndpoint, serve);
  app.use([...clientPaths], rejectUnknownPaths(PLATFORM_TOKEN_PATH));
}

export function rejectLimitedClient(request: Request, response: Response): void {
  const description = 'Too many requests from this address. Try again later.';
  writeTransportError(request, response, {
    status: 429,
    error: 'too_many_requests',
    reason: 'request_limit',
    description,
  });
}
