/**
 * The authorization server's composition root: the provider, and every page with its dependencies.
 * token/endpoints.ts has the endpoints for clients. A path in neither file never reaches the
 * provider.
 */

import type { RequestListener } from 'node:http';
import { type Tracer, traced } from '@gatehouse/server';
import type { RateLimit } from '@gatehouse/store';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { type AccountDependencies, createAccountRoutes } from './account/account.ts';
import { CHANGE_PASSWORD_PATH, createAccountSessions } from './account/session.ts';
import { openProvider, type ProviderSettings } from './open-provider.ts';
import type { ThrottledLimit } from './outcomes/metrics.ts';
import { addAssets } from './pages/assets.ts';
import { handlePageError, noteFailure, rejectMethods, sendErrorPage } from './pages/error-page.ts';
import { createCsrfTokens } from './pages/page.ts';
import { createPageHeaders, noStore, rejectCrossSite } from './pages/page-headers.ts';
import { withSealedCookies } from './pages/sealed-cookies.ts';
import { serveWelcomePage } from './pages/welcome.ts';
import { createBrowserState } from './provider/browser-state.ts';
import { withAccountClient } from './provider/clients.ts';
import {
  createExactRouting,
  fixOrigin,
  type OperationName,
  operation,
  providerRoutes as routes,
} from './requests/routes.ts';
import { defaultRedirectUri, redirectPostedRequest } from './sign-in/authorize.ts';
import { linkWithCode, rejectUserCode } from './sign-in/device.ts';
import type { SignInDependencies } from './sign-in/interaction.ts';
import { isUserAllowed } from './sign-in/policy.ts';
import { createSignInRoutes } from './sign-in/sign-in.ts';
import { createDeviceCookies } from './throttle/device-cookie.ts';
import { createFailedSecrets } from './throttle/failed-secrets.ts';
import { createLimits, type Limits } from './throttle/limits.ts';
import { createSignIn, createSignInAudit } from './throttle/sign-in-throttle.ts';
import { createTokenBudgets } from './throttle/stored-budgets.ts';
import {
  addClientEndpoints,
  clientPaths,
  handleClientEndpointErrors,
  rejectLimitedClient,
} from './token/endpoints.ts';
import { createMachineTokenIssuer, serveMachineTokens } from './token/machine-token-fast-path.ts';

export interface AppDependencies extends ProviderSettings {
  /** Addresses and CIDR ranges whose X-Forwarded-For is trusted; none by default. */
  readonly trustedProxies?: readonly string[];
  /**
   * From one address group, to the client endpoints. Introspection has the same limit of its own.
   */
  readonly clientRateLimit?: RateLimit;
  /** From one address group, to the pages. */
  readonly pageRateLimit?: RateLimit;
  /** Called for each request that a limit rejects, for metrics. */
  readonly onThrottled?: (limit: ThrottledLimit) => void;
  /** Undefined while tracing is off. */
  readonly tracer?: Tracer | undefined;
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
  const tokenBudgets = createTokenBudgets(identity);
  const parts = { ...dependencies, identity, browserState, signIn, failedSecrets, tokenBudgets };
  const provider = await openProvider(parts);
  const csrfTokens = createCsrfTokens(masterKey);
  const sessions = createAccountSessions({ provider, identity, csrfTokens, issuer });
  const limits = createLimits(identity.store, {
    ...dependencies,
    onLimited: () => onThrottled?.('requests'),
    signedInUser: async (...exchange) => (await sessions.current(...exchange))?.user.userId,
    replies: { client: rejectLimitedClient, page: showTooManyRequests, userCode: rejectUserCode },
  });
  const app = createExactRouting(dependencies.trustedProxies ?? []);
  app.use(fixOrigin(issuer));
  const serve = traced(dependencies.tracer, ['oidc-provider', 'internal'], provider.callback());
  // The account is a public client, so the fast path reads the registry without it.
  const fast = createMachineTokenIssuer(provider, { ...parts, identity: dependencies.identity });
  const machineTokens = serveMachineTokens(fast, identity);
  addClientEndpoints(app, serve, { identity, limits, machineTokens });
  app.use(createPageHeaders({ strict: dependencies.securityProfile === 'strict' }));
  addPages(app, serve, {
    limits,
    provider,
    identity,
    signIn,
    browserState,
    csrfTokens,
    sessions,
    deviceCookies: createDeviceCookies({ provider, identity, secure }),
  });
  return app;
}

/** The pages. Browsers store none of them, and their errors are pages as well. */
function addPages(
  app: Express,
  serve: RequestHandler,
  pages: AccountDependencies & SignInDependencies & { readonly limits: Limits },
): void {
  addAssets(app);
  app.use(noStore, asPage, withSealedCookies);
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
  const page = (name: OperationName) => [operation(name), pages.limits.pages];
  const ownForm = (name: OperationName) => [...page(name), rejectForeignForm];
  const addRedirectUri = defaultRedirectUri(pages.identity.clients);
  const userCodeForm = [...ownForm('device'), ...pages.limits.userCodes];
  app.get(routes.authorization, page('authorize'), addRedirectUri, serve);
  app.get(`${routes.authorization}/:interaction`, page('authorize-resume'), serve);
  app.use('/sign-in', ownForm('sign-in'), createSignInRoutes(pages));
  app.use('/account', ownForm('account'), createAccountRoutes(pages));
  app.get(routes.code_verification, page('device'), linkWithCode, serve);
  app.post(routes.code_verification, userCodeForm, serve);
  app.get(`${routes.code_verification}/:interaction`, page('device-resume'), serve);
  app.get(routes.end_session, page('logout'), serve);
  app.post(routes.end_session, operation('logout'), form, redirectPostedRequest);
  app.post(`${routes.end_session}/confirm`, ownForm('logout-confirm'), serve);
  app.get(`${routes.end_session}/success`, operation('logged-out'), serve);
  app.use(rejectMethods(app.router));
  app.use((request, response) => sendErrorPage(request, response, 404, 'notFound'));
  app.use([...clientPaths], handleClientEndpointErrors);
  app.use(handlePageError);
}

/** Errors are pages for every `Accept` header. */
const asPage: RequestHandler = (request, _response, next) => {
  request.headers.accept = 'text/html';
  next();
};

function showTooManyRequests(request: Request, response: Response): void {
  sendErrorPage(request, response, 429, 'tooManyRequests');
}
