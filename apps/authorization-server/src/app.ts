/**
 * The authorization server's composition root: the provider, and every page with its dependencies.
 * token/endpoints.ts has the endpoints for clients. A path in neither file never reaches the
 * provider.
 */

import type { RequestListener } from 'node:http';
import type { Identity, MasterKey, SigningKeyPolicy } from '@gatehouse/identity';
import { type Tracer, traced } from '@gatehouse/server';
import type { RateLimit } from '@gatehouse/store';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { type AccountDependencies, createAccountRoutes } from './account/account.ts';
import { CHANGE_PASSWORD_PATH, createAccountSessions } from './account/session.ts';
import { auditProviderEvents } from './outcomes/audit.ts';
import { explainMistakes } from './outcomes/client-mistakes.ts';
import { handleUnexpectedErrors, logOutcomes } from './outcomes/errors.ts';
import type { ThrottledLimit } from './outcomes/metrics.ts';
import * as assets from './pages/assets.ts';
import { handlePageError, noteFailure, rejectMethods, sendErrorPage } from './pages/error-page.ts';
import { createCsrfTokens } from './pages/page.ts';
import { createPageHeaders, noStore, rejectCrossSite } from './pages/page-headers.ts';
import { withSealedCookies } from './pages/sealed-cookies.ts';
import { serveWelcomePage } from './pages/welcome.ts';
import { type BrowserState, cookieOptions, createBrowserState } from './provider/browser-state.ts';
import { type SecurityProfile, withAccountClient } from './provider/clients.ts';
import { createProvider, type Provider } from './provider/create-provider.ts';
import { completeIntrospection } from './provider/introspection.ts';
import { thisServer } from './requests/caller.ts';
import {
  createExactRouting,
  fixOrigin,
  type OperationName,
  operation,
  providerRoutes as routes,
} from './requests/routes.ts';
import {
  defaultRedirectUri,
  formPostPage,
  redirectPostedRequest,
  redirectReply,
} from './sign-in/authorize.ts';
import { deviceFlow, linkWithCode, rejectUserCode } from './sign-in/device.ts';
import type { SignInDependencies } from './sign-in/interaction.ts';
import { logout, skipLogoutQuestion } from './sign-in/logout.ts';
import {
  createInteractionPolicy,
  createLoadExistingGrant,
  isUserAllowed,
} from './sign-in/policy.ts';
import { createSignInRoutes } from './sign-in/sign-in.ts';
import { createDeviceCookies } from './throttle/device-cookie.ts';
import { createFailedSecrets, type FailedSecrets } from './throttle/failed-secrets.ts';
import { createLimits, type Limits } from './throttle/limits.ts';
import { createSignInAudit } from './throttle/sign-in-audit.ts';
import { createSignIn, type SignIn } from './throttle/sign-in-throttle.ts';
import { createTokenBudgets, type TokenBudgets } from './throttle/stored-budgets.ts';
import {
  addClientEndpoints,
  clientPaths,
  handleClientEndpointErrors,
  rejectLimitedClient,
} from './token/endpoints.ts';
import { registerGrants } from './token/grants.ts';
import { createMachineTokenIssuer, serveMachineTokens } from './token/machine-token-fast-path.ts';
import { clientEndpointReply, forgetForeignOrigin, removeForeignOrigins } from './token/replies.ts';

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
  const tokenBudgets = createTokenBudgets(identity);
  const parts = { ...dependencies, identity, browserState, signIn, failedSecrets, tokenBudgets };
  const provider = await openProvider(parts);
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
  app.use(fixOrigin(issuer));
  const serve = serveWith(provider, dependencies.tracer);
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

interface ProviderParts extends AppDependencies {
  readonly browserState: BrowserState;
  readonly signIn: SignIn;
  readonly failedSecrets: FailedSecrets;
  readonly tokenBudgets: TokenBudgets;
}

/** @throws StoreUnavailableError when the signing key cannot be read or created */
export async function openProvider(dependencies: ProviderParts): Promise<Provider> {
  const { issuer, identity, now = Date.now } = dependencies;
  const policy = dependencies.signingKeyPolicy;
  const keptSigningKeys = identity.keepSigningKeys('authorization-server', thisServer, {
    now,
    policy,
  });
  const signingKeys = await keptSigningKeys.load();
  const provider = createProvider(
    { ...dependencies, keptSigningKeys, signingKeys },
    {
      configuration: {
        deviceFlow: deviceFlow(identity),
        rpInitiatedLogout: logout(identity),
        interactions: {
          policy: createInteractionPolicy(identity),
          url: (_context, interaction) => `/sign-in/${interaction.uid}`,
        },
        loadExistingGrant: createLoadExistingGrant(identity.clients),
        clientBasedCORS: forgetForeignOrigin,
      },
      formPostPage,
      replySteps: [
        redirectReply,
        removeForeignOrigins,
        clientEndpointReply,
        handleUnexpectedErrors,
      ],
      endpointSteps: [
        explainMistakes,
        completeIntrospection({ identity, issuer }),
        skipLogoutQuestion,
      ],
    },
  );
  logOutcomes(provider, identity.clients);
  auditProviderEvents(provider, identity);
  registerGrants(provider, dependencies);
  return provider;
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
