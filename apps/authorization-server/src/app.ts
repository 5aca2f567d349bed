/**
 * The authorization server's composition root: the provider, and every page with its dependencies.
 * token/endpoints.ts has the endpoints for clients. A path in neither file never reaches the
 * provider.
 */

import type { RequestListener } from 'node:http';
import {
  createXAccessTokens,
  defaultSigningKeyPolicy,
  type Identity,
  keepSigningKeys,
  type MasterKey,
  type SigningKeyPolicy,
} from '@gatehouse/identity';
import { type Tracer, traced } from '@gatehouse/server';
import type { RateLimit } from '@gatehouse/store';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { type AccountDependencies, createAccountRoutes } from './account/account.ts';
import { CHANGE_PASSWORD_PATH, createAccountSessions } from './account/session.ts';
import * as assets from './pages/assets.ts';
import { handlePageError, noteFailure, rejectMethods, sendErrorPage } from './pages/error-page.ts';
import { createCsrfTokens } from './pages/page.ts';
import { createPageHeaders, noStore, rejectCrossSite } from './pages/page-headers.ts';
import { withSealedCookies } from './pages/sealed-cookies.ts';
import { serveWelcomePage } from './pages/welcome.ts';
import { type BrowserState, cookieOptions, createBrowserState } from './provider/browser-state.ts';
import { type SecurityProfile, withAccountClient } from './provider/clients.ts';
import {
  createProvider,
  type Provider,
  type ProviderExtensions,
} from './provider/create-provider.ts';
import { completeIntrospection } from './provider/introspection.ts';
import { isUserAllowed } from './provider/sign-in-policy.ts';
import { thisServer } from './requests/caller.ts';
import type { ThrottledLimit } from './requests/metrics.ts';
import {
  clientEndpointPaths,
  createExactRouting,
  fixOrigin,
  noSniff,
  type OperationName,
  operation,
  providerRoutes as routes,
} from './requests/routes.ts';
import { deviceFlow, linkWithCode, rejectUserCode } from './sign-in/device.ts';
import type { SignInDependencies } from './sign-in/interaction.ts';
import { logout, skipLogoutQuestion } from './sign-in/logout.ts';
import { createSignInRoutes } from './sign-in/sign-in.ts';
import { createDeviceCookies } from './throttle/device-cookie.ts';
import { createFailedSecrets, type FailedSecrets } from './throttle/failed-secrets.ts';
import { createLimits, type Limits } from './throttle/limits.ts';
import { createSignInAudit } from './throttle/sign-in-audit.ts';
import { createSignIn, type SignIn } from './throttle/sign-in-throttle.ts';
import {
  defaultRedirectUri,
  formPostPage,
  redirectPostedRequest,
  redirectReply,
} from './token/authorize.ts';
import { explainMistakes } from './token/client-mistakes.ts';
import { forgetForeignOrigin, removeForeignOrigins } from './token/cors.ts';
import {
  addClientEndpoints,
  clientPaths,
  handleClientEndpointErrors,
  rejectLimitedClient,
} from './token/endpoints.ts';
import { grants } from './token/grants.ts';
import { clientEndpointReply, platformReply } from './token/replies.ts';

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
  const csrfTokens = createCsrfTokens(masterKey);
  const cookie = cookieOptions(secure);
  const sessions = createAccountSessions({ provider, identity, csrfTokens, issuer, cookie });
  const limits = createLimits(identity.store, {
    ...dependencies,
    onLimited: () => onThrottled?.('requests'),
    signedInUser: async (...exchange) => (await sessions.current(...exchange))?.user.userId,
    replies: { client: rejectLimitedClient, page: showTooManyRequests, userCode: rejectUserCode },
  });
  const app = createExactRouting(dependencies.trustedProxies ?? []);
  app.use(fixOrigin(issuer), noSniff);
  const serve = serveWith(provider, dependencies.tracer);
  addClientEndpoints(app, serve, { ...services, provider, limits });
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

interface ProviderParts extends AppDependencies {
  readonly browserState: BrowserState;
  readonly signIn: SignIn;
  readonly failedSecrets: FailedSecrets;
}

/** @throws StoreUnavailableError when the signing key cannot be read or created */
export async function openProvider(dependencies: ProviderParts): Promise<Provider> {
  const { issuer, identity, signingKeyPolicy = defaultSigningKeyPolicy } = dependencies;
  const keptSigningKeys = keepSigningKeys('authorization-server', 'RS256', {
    ...identity,
    now: dependencies.now ?? Date.now,
    policy: signingKeyPolicy,
    onMade: (kid) =>
      identity.audit.record(
        { event: 'signing_key_made', purpose: 'authorization-server', kid },
        thisServer,
      ),
  });
  const signingKeys = await keptSigningKeys.load();
  const secureCookies = issuer.startsWith('https:');
  return createProvider(
    issuer,
    { ...dependencies, grants, keptSigningKeys, signingKeys, secureCookies },
    extensionsOf(dependencies),
  );
}

function extensionsOf(dependencies: ProviderParts): ProviderExtensions {
  const { identity, issuer, now = Date.now } = dependencies;
  const xAccessTokens = createXAccessTokens({ ...identity, now });
  return {
    configuration: {
      deviceFlow: deviceFlow(identity),
      rpInitiatedLogout: logout(identity),
      clientBasedCORS: (context, origin, client) =>
        forgetForeignOrigin(context, origin, client.corsOrigins),
    },
    formPostPage,
    replySteps: [
      redirectReply,
      removeForeignOrigins,
      clientEndpointReply(clientEndpointPaths),
      platformReply,
    ],
    endpointSteps: () => [
      explainMistakes,
      completeIntrospection({ identity, xAccessTokens, issuer }),
      skipLogoutQuestion,
    ],
  };
}

/** The pages. Browsers store none of them, and their errors are pages as well. */
function addPages(
  app: Express,
  serve: RequestHandler,
  pages: AccountDependencies & SignInDependencies & { readonly limits: Limits },
): void {
  app.get(assets.STYLESHEET_PATH, operation('stylesheet'), assets.serveStylesheet);
  app.get(assets.SIGN_IN_LINK_SCRIPT_PATH, operation('script'), assets.serveSignInLinkScript);
  app.get(assets.ICON_PATH, operation('icon'), assets.serveIcon);
  app.get(assets.SUBMIT_FORM_SCRIPT_PATH, operation('script'), assets.serveSubmitFormScript);
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
  const limited = (name: OperationName) => [operation(name), pages.limits.pages];
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
  app.post(
    routes.code_verification,
    limited('device'),
    rejectForeignForm,
    pages.limits.userCodes,
    asPage,
    serve,
  );
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
