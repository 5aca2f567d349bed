/**
 * The authorization server's composition root: every route, with what it depends on.
 * A path that is not listed here does not reach the provider, whatever its router would make of it.
 */
import type { RequestListener } from 'node:http';
import { observedRequest } from '@gatehouse/http-server';
import {
  createRegisteredOrigins,
  defaultSigningKeyPolicy,
  type Identity,
  keepSigningKeys,
  type MasterKey,
  type SigningKeyPolicy,
} from '@gatehouse/identity';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { withAccountClient } from './account/account-client.ts';
import { type AccountDependencies, createAccountRoutes } from './account/account-routes.ts';
import { SIGN_IN_LINK_SCRIPT_PATH, serveWelcomePage } from './account/welcome-page.ts';
import { thisServer } from './audit/request-origin.ts';
import { createSignInAudit } from './audit/sign-in-audit.ts';
import { defaultParameters } from './authorize/default-parameters.ts';
import { redirectPostedRequest } from './authorize/form-post.ts';
import { answerClientEndpointErrors } from './client-endpoints/answer-errors.ts';
import { auditedEndpoint } from './client-endpoints/audited-endpoint.ts';
import { serveMachineTokens } from './client-endpoints/serve-machine-tokens.ts';
import { clientEndpoint, writeRefusal } from './client-endpoints/transport.ts';
import { userinfoEndpoint } from './client-endpoints/userinfo.ts';
import { allowRegisteredOrigins } from './cors/registered-origins.ts';
import { linkWithCode } from './device-sign-in/link-with-code.ts';
import { createMachineTokenIssuer } from './grants/machine-token-issuer.ts';
import { fixOrigin } from './http/fix-origin.ts';
import { noSniff, noStore, pageHeaders } from './http/page-headers.ts';
import { refuseCrossSite } from './http/refuse-cross-site.ts';
import { serveSignInLinkScript, serveStylesheet } from './pages/assets.ts';
import { createCsrfTokens } from './pages/csrf-token.ts';
import { handlePageError, sendErrorPage } from './pages/error-page.ts';
import { STYLESHEET_PATH } from './pages/layout.ts';
import {
  fromPlatform,
  PLATFORM_TOKEN_PATH,
  platformEndpoint,
} from './platform/platform-endpoint.ts';
import { cookieOptions } from './provider/cookies.ts';
import { createProvider } from './provider/create-provider.ts';
import type { SecurityProfile } from './provider/grant-types.ts';
import { isUserAllowed } from './provider/interaction-policy.ts';
import { providerRoutes as at, clientEndpointPaths } from './provider/routes.ts';
import { createSignInRoutes } from './sign-in/sign-in-routes.ts';
import { createFailedSecrets, type FailedSecrets } from './throttle/failed-secrets.ts';
import { limitRequests } from './throttle/limit-requests.ts';
import { DEFAULT_CLIENT_REQUESTS_PER_MINUTE } from './throttle/limits.ts';
import { createSignIn, type SignIn } from './throttle/sign-in-throttle.ts';

export interface AppDependencies {
  readonly identity: Identity;
  readonly masterKey: MasterKey;
  readonly issuer: string;
  readonly cookieKeys: readonly string[];
  readonly securityProfile: SecurityProfile;
  /** Addresses and CIDR ranges whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[];
  /** From one address, to the client endpoints. */
  readonly clientRequestsPerMinute?: number;
  readonly signingKeyPolicy?: SigningKeyPolicy;
  /** Of the signing keys. Epoch milliseconds. */
  readonly now?: () => number;
}

/** @throws StoreUnavailable when the signing key cannot be read or made */
export async function createApp(dependencies: AppDependencies): Promise<RequestListener> {
  const { issuer } = dependencies;
  const identity = withAccountClient(dependencies.identity, issuer);
  const { audit } = identity;
  const signIn = createSignIn({
    ...identity,
    isAllowed: (user, clientId) => isUserAllowed(user.orgId, clientId, identity),
    observer: createSignInAudit(identity),
  });
  const failedSecrets = createFailedSecrets(identity);
  const provider = await openProvider({ ...dependencies, identity }, { signIn, failedSecrets });
  const callback = provider.callback();
  const serve: RequestHandler = (request, response) => callback(request, response);

  const app = createExactRouting(dependencies.trustedProxies ?? []);
  app.use(fixOrigin(issuer), noSniff);

  const origins = createRegisteredOrigins(identity.clients);
  const forClients = auditedEndpoint(audit, clientEndpoint);
  const browserForm = allowRegisteredOrigins(origins, 'POST');
  app.get('/.well-known/openid-configuration', operation('discovery'), serve);
  app.get('/.well-known/oauth-authorization-server', operation('discovery'), serve);
  app.get(at.jwks, operation('jwks'), serve);
  const limit = limitRequests(identity.store, {
    requestsPerMinute: dependencies.clientRequestsPerMinute ?? DEFAULT_CLIENT_REQUESTS_PER_MINUTE,
    refuse: refuseTooMany,
  });
  const issue = createMachineTokenIssuer(provider, failedSecrets);
  const short = serveMachineTokens(issue, audit);
  app.all(at.token, operation('token'), browserForm, limit, forClients, short, serve);
  app.all(
    PLATFORM_TOKEN_PATH,
    operation('platform-token'),
    fromPlatform,
    limit,
    auditedEndpoint(audit, platformEndpoint),
    serve,
  );
  app.all(at.revocation, operation('revoke'), browserForm, limit, forClients, serve);
  app.all(at.introspection, operation('introspect'), forClients, serve);
  app.all(at.pushed_authorization_request, operation('par'), limit, forClients, serve);
  app.all(at.device_authorization, operation('device-authorization'), limit, forClients, serve);
  const browserRead = allowRegisteredOrigins(origins, 'GET, POST');
  app.all(at.userinfo, operation('userinfo'), browserRead, userinfoEndpoint, serve);

  const csrfTokens = createCsrfTokens(dependencies.masterKey);
  const cookie = cookieOptions(issuer.startsWith('https:'));
  addPages(app, serve, { provider, identity, csrfTokens, signIn, issuer, cookie });
  return app;
}

/** What people look at: each of them closed, kept nowhere, and an error among them a page, too. */
function addPages(app: Express, serve: RequestHandler, pages: AccountDependencies): void {
  app.use(pageHeaders);
  app.get(STYLESHEET_PATH, operation('stylesheet'), serveStylesheet);
  app.get(SIGN_IN_LINK_SCRIPT_PATH, operation('script'), serveSignInLinkScript);
  app.use(noStore);
  const formRefused = refuseCrossSite((request, response) =>
    sendErrorPage(request, response, 403, 'formRefused'),
  );
  app.get('/', operation('welcome'), serveWelcomePage);
  const form = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 });
  app.post(at.authorization, operation('authorize'), form, redirectPostedRequest);
  app.get(
    at.authorization,
    operation('authorize'),
    asPage,
    defaultParameters(pages.identity.clients),
    serve,
  );
  app.get(`${at.authorization}/:interaction`, operation('authorize-resume'), asPage, serve);
  app.use('/sign-in', operation('sign-in'), formRefused, createSignInRoutes(pages));
  app.use('/account', operation('account'), formRefused, createAccountRoutes(pages));
  app.get(at.code_verification, operation('device'), asPage, linkWithCode, serve);
  app.post(at.code_verification, operation('device'), formRefused, asPage, serve);
  app.get(`${at.code_verification}/:interaction`, operation('device-resume'), asPage, serve);
  app.get(at.end_session, operation('logout'), asPage, serve);
  app.post(at.end_session, operation('logout'), form, redirectPostedRequest);
  app.post(`${at.end_session}/confirm`, operation('logout-confirm'), formRefused, asPage, serve);
  app.get(`${at.end_session}/success`, operation('logged-out'), asPage, serve);
  app.use((request, response) => sendErrorPage(request, response, 404, 'notFound'));
  app.use([...clientEndpointPaths, PLATFORM_TOKEN_PATH, at.userinfo], answerClientEndpointErrors);
  app.use(handlePageError);
}

function createExactRouting(trustedProxies: readonly string[]): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', [...trustedProxies]);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  return app;
}

async function openProvider(
  dependencies: AppDependencies,
  throttles: { readonly signIn: SignIn; readonly failedSecrets: FailedSecrets },
): Promise<ReturnType<typeof createProvider>> {
  const { identity, issuer, masterKey, cookieKeys, securityProfile } = dependencies;
  const keptSigningKeys = keepSigningKeys('authorization-server', 'RS256', {
    ...identity,
    now: dependencies.now ?? Date.now,
    policy: dependencies.signingKeyPolicy ?? defaultSigningKeyPolicy,
    onMade: (kid) =>
      identity.audit.record(
        { event: 'signing_key_made', purpose: 'authorization-server', kid },
        thisServer,
      ),
  });
  return createProvider(issuer, {
    identity,
    masterKey,
    keptSigningKeys,
    signingKeys: await keptSigningKeys.load(),
    cookieKeys,
    secureCookies: issuer.startsWith('https:'),
    securityProfile,
    ...throttles,
  });
}

/** The request's name in log and metrics. */
function operation(name: string): RequestHandler {
  return (request, _response, next) => {
    observedRequest(request).notes.operation = name;
    next();
  };
}

function refuseTooMany(request: Request, response: Response): void {
  const description = 'Too many requests from this address. Try again later.';
  writeRefusal(request, response, { status: 429, error: 'too_many_requests', description });
}

/** A person looks at this: errors are pages, whatever `Accept` says. */
const asPage: RequestHandler = (request, _response, next) => {
  request.headers.accept = 'text/html';
  next();
};
