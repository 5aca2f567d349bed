/**
 * The authorization server's composition root: every page, with its dependencies. client-routes.ts
 * has the endpoints for clients. A path in neither file never reaches the provider.
 */
import type { RequestListener } from 'node:http';
import type { Identity, MasterKey, SigningKeyPolicy } from '@gatehouse/identity';
import { type Tracer, traced } from '@gatehouse/server';
import type { RateLimit } from '@gatehouse/store';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { type AccountDependencies, createAccountRoutes } from './account/account-routes.ts';
import { CHANGE_PASSWORD_PATH } from './account/sign-in-address.ts';
import { SIGN_IN_LINK_SCRIPT_PATH, serveWelcomePage } from './account/welcome-page.ts';
import { createSignInAudit } from './audit/sign-in-audit.ts';
import { defaultRedirectUri } from './authorize/default-redirect-uri.ts';
import { redirectPostedRequest } from './authorize/form-post.ts';
import { SUBMIT_FORM_SCRIPT_PATH } from './authorize/form-post-page.ts';
import { handleClientEndpointErrors } from './client-endpoints/handle-errors.ts';
import { addClientEndpoints, clientPaths, rejectLimitedClient } from './client-routes.ts';
import { linkWithCode } from './device-sign-in/link-with-code.ts';
import { createExactRouting } from './http/exact-routing.ts';
import { fixOrigin } from './http/fix-origin.ts';
import { operation } from './http/operation.ts';
import type { OperationName } from './http/operation-names.ts';
import { createPageHeaders, noSniff, noStore } from './http/page-headers.ts';
import { providerRoutes as routes } from './http/provider-routes.ts';
import { rejectCrossSite } from './http/reject-cross-site.ts';
import { withSealedCookies } from './http/sealed-cookies.ts';
import type { ThrottledLimit } from './metrics/authorization-server-metrics.ts';
import { openProvider } from './open-provider.ts';
import {
  serveIcon,
  serveSignInLinkScript,
  serveStylesheet,
  serveSubmitFormScript,
} from './pages/assets.ts';
import { createCsrfTokens } from './pages/csrf-token.ts';
import { handlePageError, noteFailure, sendErrorPage } from './pages/error-page.ts';
import { ICON_PATH, STYLESHEET_PATH } from './pages/layout.ts';
import { rejectMethods } from './pages/reject-methods.ts';
import type { Provider } from './provider/create-provider.ts';
import { withAccountClient } from './provider/policy/account-client.ts';
import { cookieOptions, createBrowserState } from './provider/policy/cookies.ts';
import type { SecurityProfile } from './provider/policy/grant-types.ts';
import { isUserAllowed } from './provider/policy/interaction-policy.ts';
import { createDeviceCookies } from './sign-in/device-cookie.ts';
import { createSignInRoutes, type SignInDependencies } from './sign-in/sign-in-routes.ts';
import { createEndpointLimits } from './throttle/endpoint-limits.ts';
import { createFailedSecrets } from './throttle/failed-secrets.ts';
import { createSignIn } from './throttle/sign-in-throttle.ts';

export interface AppDependencies {
  readonly identity: Identity;
  readonly masterKey: MasterKey;
  readonly issuer: string;
  readonly cookieKeys: readonly string[];
  readonly securityProfile: SecurityProfile;
  /** Addresses and CIDR ranges whose X-Forwarded-For is trusted; none by default. */
  readonly trustedProxies?: readonly string[];
  /**
   * From one address group, to the client endpoints. Introspection has the same limit of its own.
   */
  readonly clientRateLimit?: RateLimit;
  /** From one address group, to the pages. */
  readonly pageRateLimit?: RateLimit;
  readonly signingKeyPolicy?: SigningKeyPolicy;
  /** Called for each request that a limit rejects, for metrics. */
  readonly onThrottled?: (limit: ThrottledLimit) => void;
  /** Undefined while tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Of the signing keys. Epoch milliseconds. */
  readonly now?: () => number;
}

/** @throws StoreUnavailableError when the signing key cannot be read or created */
export async function createApp(dependencies: AppDependencies): Promise<RequestListener> {
  const { issuer, masterKey, onThrottled } = dependencies;
  const identity = withAccountClient(dependencies.identity, issuer);
  const signIn = createSignIn({
    ...identity,
    isAllowed: (user, clientId) => isUserAllowed(user.orgId, clientId, identity),
    observer: createSignInAudit(identity),
  });
  const failedSecrets = createFailedSecrets({
    ...identity,
    onLimited: () => onThrottled?.('client_secrets'),
  });
  const secure = issuer.startsWith('https:');
  const browserState = createBrowserState(masterKey, secure);
  const services = { ...dependencies, identity, browserState, signIn, failedSecrets };
  const provider = await openProvider(services);
  const limits = createEndpointLimits(identity.store, {
    ...dependencies,
    onLimited: () => onThrottled?.('requests'),
    replies: { client: rejectLimitedClient, page: showTooManyRequests },
  });
  const app = createExactRouting(dependencies.trustedProxies ?? []);
  app.use(fixOrigin(issuer), noSniff);
  const serve = serveWith(provider, dependencies.tracer);
  addClientEndpoints(app, serve, { ...services, provider, limits });
  app.use(createPageHeaders({ strict: dependencies.securityProfile === 'strict' }));
  addPages(app, serve, {
    limit: limits.pages,
    provider,
    identity,
    signIn,
    issuer,
    browserState,
    csrfTokens: createCsrfTokens(masterKey),
    cookie: cookieOptions(secure),
    deviceCookies: createDeviceCookies({ provider, identity, secure }),
  });
  return app;
}

/** The pages. Browsers store none of them, and their errors are pages as well. */
function addPages(
  app: Express,
  serve: RequestHandler,
  pages: AccountDependencies & SignInDependencies & { readonly limit: RequestHandler },
): void {
  app.get(STYLESHEET_PATH, operation('stylesheet'), serveStylesheet);
  app.get(SIGN_IN_LINK_SCRIPT_PATH, operation('script'), serveSignInLinkScript);
  app.get(ICON_PATH, operation('icon'), serveIcon);
  app.get(SUBMIT_FORM_SCRIPT_PATH, operation('script'), serveSubmitFormScript);
  app.use(noStore, withSealedCookies);
  const rejectForeignForm = rejectCrossSite((request, response) => {
    noteFailure(request, 'formRefused', 'form_refused');
    sendErrorPage(request, response, 403, 'formRefused');
  });
  app.get('/', operation('welcome'), serveWelcomePage);
  // Password managers link to this address (W3C, A Well-Known URL for Changing Passwords).
  app.get('/.well-known/change-password', operation('account'), (_request, response) =>
    response.redirect(303, CHANGE_PASSWORD_PATH),
  );
  const form = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 });
  app.post(routes.authorization, operation('authorize'), form, redirectPostedRequest);
  const limited = (name: OperationName) => [operation(name), pages.limit];
  app.get(
    routes.authorization,
    limited('authorize'),
    asPage,
    defaultRedirectUri(pages.identity.clients),
    serve,
  );
  app.get(`${routes.authorization}/:interaction`, limited('authorize-resume'), asPage, serve);
  app.use('/sign-in', limited('sign-in'), rejectForeignForm, createSignInRoutes(pages));
  app.use('/account', limited('account'), rejectForeignForm, createAccountRoutes(pages));
  app.get(routes.code_verification, limited('device'), asPage, linkWithCode, serve);
  app.post(routes.code_verification, limited('device'), rejectForeignForm, asPage, serve);
  app.get(`${routes.code_verification}/:interaction`, limited('device-resume'), asPage, serve);
  app.get(routes.end_session, limited('logout'), asPage, serve);
  app.post(routes.end_session, operation('logout'), form, redirectPostedRequest);
  app.post(
    `${routes.end_session}/confirm`,
    limited('logout-confirm'),
    rejectForeignForm,
    asPage,
    serve,
  );
  app.get(`${routes.end_session}/success`, operation('logged-out'), asPage, serve);
  app.use(rejectMethods(app.router));
  app.use((request, response) => sendErrorPage(request, response, 404, 'notFound'));
  app.use([...clientPaths], handleClientEndpointErrors);
  app.use(handlePageError);
}

function serveWith(provider: Provider, tracer: Tracer | undefined): RequestHandler {
  const callback = traced(tracer, ['oidc-provider', 'internal'], provider.callback());
  return (request, response) => callback(request, response);
}

/** Errors are pages for every `Accept` header. */
const asPage: RequestHandler = (request, _response, next) => {
  request.headers.accept = 'text/html';
  next();
};

function showTooManyRequests(request: Request, response: Response): void {
  sendErrorPage(request, response, 429, 'tooManyRequests');
}
