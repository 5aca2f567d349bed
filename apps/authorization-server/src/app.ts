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
import express, { type Express, type RequestHandler } from 'express';
import { type AccountDependencies, createAccountRoutes } from './account/account-routes.ts';
import { SIGN_IN_LINK_SCRIPT_PATH, serveWelcomePage } from './account/welcome-page.ts';
import { thisServer } from './audit/request-origin.ts';
import { createSignInAudit } from './audit/sign-in-audit.ts';
import { defaultParameters } from './authorize/default-parameters.ts';
import { redirectPostedRequest } from './authorize/form-post.ts';
import { answerClientEndpointErrors } from './client-endpoints/answer-errors.ts';
import { auditedEndpoint } from './client-endpoints/audited-endpoint.ts';
import { serveMachineTokens } from './client-endpoints/serve-machine-tokens.ts';
import { clientEndpoint } from './client-endpoints/transport.ts';
import { userinfoEndpoint } from './client-endpoints/userinfo.ts';
import { allowRegisteredOrigins } from './cors/registered-origins.ts';
import { linkWithCode } from './device-sign-in/link-with-code.ts';
import { createMachineTokenIssuer } from './grants/machine-token-issuer.ts';
import { fixOrigin } from './http/fix-origin.ts';
import type { OperationName } from './http/operation-names.ts';
import { noSniff, noStore, pageHeaders } from './http/page-headers.ts';
import { providerRoutes as at, clientEndpointPaths } from './http/provider-routes.ts';
import { refuseCrossSite } from './http/refuse-cross-site.ts';
import { withSealedCookies } from './http/sealed-cookies.ts';
import type { ThrottledLimit } from './metrics/authorization-server-metrics.ts';
import { serveSignInLinkScript, serveStylesheet } from './pages/assets.ts';
import { createCsrfTokens } from './pages/csrf-token.ts';
import { handlePageError, sendErrorPage } from './pages/error-page.ts';
import { STYLESHEET_PATH } from './pages/layout.ts';
import {
  fromPlatform,
  PLATFORM_TOKEN_PATH,
  platformEndpoint,
} from './platform/platform-endpoint.ts';
import { createProvider } from './provider/create-provider.ts';
import { withAccountClient } from './provider/policy/account-client.ts';
import { type BrowserState, cookieOptions, createBrowserState } from './provider/policy/cookies.ts';
import type { SecurityProfile } from './provider/policy/grant-types.ts';
import { isUserAllowed } from './provider/policy/interaction-policy.ts';
import { createDeviceCookies } from './sign-in/device-cookie.ts';
import { createSignInRoutes, type SignInDependencies } from './sign-in/sign-in-routes.ts';
import { createEndpointLimits } from './throttle/endpoint-limits.ts';
import { createFailedSecrets, type FailedSecrets } from './throttle/failed-secrets.ts';
import { createSignIn, type SignIn } from './throttle/sign-in-throttle.ts';

export interface AppDependencies {
  readonly identity: Identity;
  readonly masterKey: MasterKey;
  readonly issuer: string;
  readonly cookieKeys: readonly string[];
  readonly securityProfile: SecurityProfile;
  /** Addresses and CIDR ranges whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[];
  /** From one address group, to the client endpoints; as many again to introspection. */
  readonly clientRequestsPerMinute?: number;
  /** From one address group, to the pages. */
  readonly pageRequestsPerMinute?: number;
  readonly signingKeyPolicy?: SigningKeyPolicy;
  /** Hears of what is refused because a limit was reached, for metrics. */
  readonly onThrottled?: (limit: ThrottledLimit) => void;
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
  const failedSecrets = createFailedSecrets({
    ...identity,
    onRefused: () => dependencies.onThrottled?.('client_secrets'),
  });
  const browserState = createBrowserState(dependencies.masterKey, issuer.startsWith('https:'));
  const provider = await openProvider(
    { ...dependencies, identity, browserState },
    { signIn, failedSecrets },
  );
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
  const limits = createEndpointLimits(identity.store, {
    ...dependencies,
    onRefused: () => dependencies.onThrottled?.('requests'),
  });
  const limit = limits.clientEndpoints;
  const issue = createMachineTokenIssuer(provider, {
    failedSecrets,
    clients: identity.clients,
  });
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
  app.all(at.introspection, operation('introspect'), limits.introspection, forClients, serve);
  app.all(at.pushed_authorization_request, operation('par'), limit, forClients, serve);
  app.all(at.device_authorization, operation('device-authorization'), limit, forClients, serve);
  const browserRead = allowRegisteredOrigins(origins, 'GET, POST');
  app.all(at.userinfo, operation('userinfo'), browserRead, userinfoEndpoint, serve);

  const csrfTokens = createCsrfTokens(dependencies.masterKey);
  const secure = issuer.startsWith('https:');
  const cookie = cookieOptions(secure);
  const deviceCookies = createDeviceCookies({ provider, identity, secure });
  const common = { provider, identity, csrfTokens, signIn, issuer };
  const pages = { ...common, deviceCookies, cookie, browserState };
  addPages(app, serve, limits.pages, pages);
  return app;
}

/** What people look at: each of them closed, kept nowhere, and an error among them a page, too. */
function addPages(
  app: Express,
  serve: RequestHandler,
  limit: RequestHandler,
  pages: AccountDependencies & SignInDependencies,
): void {
  app.use(pageHeaders);
  app.get(STYLESHEET_PATH, operation('stylesheet'), serveStylesheet);
  app.get(SIGN_IN_LINK_SCRIPT_PATH, operation('script'), serveSignInLinkScript);
  app.use(noStore, withSealedCookies);
  const formRefused = refuseCrossSite((request, response) =>
    sendErrorPage(request, response, 403, 'formRefused'),
  );
  app.get('/', operation('welcome'), serveWelcomePage);
  const form = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 });
  app.post(at.authorization, operation('authorize'), form, redirectPostedRequest);
  const limited = (name: OperationName) => [operation(name), limit];
  app.get(
    at.authorization,
    limited('authorize'),
    asPage,
    defaultParameters(pages.identity.clients),
    serve,
  );
  app.get(`${at.authorization}/:interaction`, limited('authorize-resume'), asPage, serve);
  app.use('/sign-in', limited('sign-in'), formRefused, createSignInRoutes(pages));
  app.use('/account', limited('account'), formRefused, createAccountRoutes(pages));
  app.get(at.code_verification, limited('device'), asPage, linkWithCode, serve);
  app.post(at.code_verification, limited('device'), formRefused, asPage, serve);
  app.get(`${at.code_verification}/:interaction`, limited('device-resume'), asPage, serve);
  app.get(at.end_session, limited('logout'), asPage, serve);
  app.post(at.end_session, operation('logout'), form, redirectPostedRequest);
  app.post(`${at.end_session}/confirm`, limited('logout-confirm'), formRefused, asPage, serve);
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
  dependencies: AppDependencies & { readonly browserState: BrowserState },
  throttles: { readonly signIn: SignIn; readonly failedSecrets: FailedSecrets },
): Promise<ReturnType<typeof createProvider>> {
  const { identity, issuer, masterKey, cookieKeys, securityProfile, browserState } = dependencies;
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
    browserState,
    ...throttles,
  });
}

/** The request's name in log and metrics. */
function operation(name: OperationName): RequestHandler {
  return (request, _response, next) => {
    observedRequest(request).notes.operation = name;
    next();
  };
}

/** A person looks at this: errors are pages, whatever `Accept` says. */
const asPage: RequestHandler = (request, _response, next) => {
  request.headers.accept = 'text/html';
  next();
};
