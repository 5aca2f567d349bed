/**
 * The authorization server's composition root: the provider, and every page with its dependencies.
 * token/endpoints.ts has the endpoints for clients. A path in neither file never reaches the
 * provider.
 */
import type { RequestListener } from 'node:http';
import type { Identity, IdentitySettings, MasterKey } from '@gatehouse/identity';
import { type Tracer, traced } from '@gatehouse/server';
import express, { type Express, type RequestHandler } from 'express';
import Provider from 'oidc-provider';
import { type AccountDependencies, createAccountRoutes } from './account/account.ts';
import { createPasskeyCeremonies } from './account/passkey-ceremony.ts';
import { CHANGE_PASSWORD_PATH, createAccountSessions } from './account/session.ts';
import type { Configuration } from './config.ts';
import { createGuardedFetch, type Outbound } from './guarded-fetch.ts';
import { startMails } from './mail/deliver-mails.ts';
import { auditProviderEvents } from './outcomes/audit.ts';
import { explainMistakes, handleUnexpectedErrors, logOutcomes } from './outcomes/errors.ts';
import type { ThrottledLimit } from './outcomes/metrics.ts';
import { addAssets } from './pages/assets.ts';
import { serveBrandFiles } from './pages/brand-files.ts';
import { BRAND_FILES_PATH } from './pages/branding.ts';
import { handlePageError, rejectMethods, sendErrorPage } from './pages/error-page.ts';
import { chooseLanguage, LANGUAGE_PATH } from './pages/languages.ts';
import { createCsrfTokens, parseForm } from './pages/page.ts';
import { asPage, createPageHeaders, rejectForeignForm } from './pages/page-headers.ts';
import { withSealedCookies } from './pages/sealed-cookies.ts';
import { serveWelcomePage } from './pages/welcome.ts';
import { type BrowserState, createBrowserState } from './provider/browser-state.ts';
import { createClientKeySets, createFetchDeclared } from './provider/client-key-sets.ts';
import { countFailedSecrets } from './provider/client-patches.ts';
import { withBuiltInClients } from './provider/clients.ts';
import { deliverLogouts } from './provider/deliver-logouts.ts';
import { addPollingInterval } from './provider/device-codes.ts';
import { completeIntrospection, revokeJwtAccessTokens } from './provider/introspection.ts';
import { failClosed, type ProviderMiddleware } from './provider/library.ts';
import { announceClients, createMetadataDocuments } from './provider/metadata-documents.ts';
import { applyPatches, createKeyInstaller, keepClaimsCurrent } from './provider/patches.ts';
import { createAdapter, providerSettings } from './provider/settings.ts';
import { createSingleUses } from './provider/single-use.ts';
import { thisServer } from './requests/caller.ts';
import { readSettings } from './requests/request-context.ts';
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
  rejectionOfSignIn,
} from './sign-in/policy.ts';
import { createSignInRoutes } from './sign-in/sign-in.ts';
import { upstreamCallback } from './sign-in/upstream.ts';
import { addSignedOutPages, type SignedOutPages } from './signed-out/signed-out-pages.ts';
import { createDeviceCookies } from './throttle/device-cookie.ts';
import { createFailedSecrets, type FailedSecrets } from './throttle/failed-secrets.ts';
import { createLimits, type Limits } from './throttle/limits.ts';
import { createSignIn, createSignInAudit, type SignIn } from './throttle/sign-in-throttle.ts';
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
import { createUpstreamRoundTrips } from './upstream/round-trips.ts';

type Settings = Omit<Configuration, 'identity'> & IdentitySettings;
type Optional = 'signingKeyPolicy' | 'trustedProxies' | 'clientRateLimit' | 'pageRateLimit';

export interface AppDependencies
  extends Pick<Settings, 'issuer' | 'cookieKeys' | 'securityProfile'>,
    Partial<Pick<Settings, Optional | 'mail'>> {
  readonly identity: Identity;
  readonly masterKey: MasterKey;
  /** Called for each request that a limit rejects, for metrics. */
  readonly onThrottled?: (limit: ThrottledLimit) => void;
  /** How the server reaches what clients declare. Tests replace parts of it. */
  readonly outbound?: Outbound;
  /** Undefined while tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Called for each mail that the mail server did not accept. */
  readonly onMailFailure?: (message: string) => void;
  /** Ends the delivery of logout tokens and mails. Without it, this server delivers none. */
  readonly delivering?: AbortSignal;
  /** Of the signing keys. Epoch milliseconds. */
  readonly now?: () => number;
}

/** @throws StoreUnavailableError when the signing key cannot be read or created */
export async function createApp(dependencies: AppDependencies): Promise<RequestListener> {
  const { issuer, masterKey, onThrottled } = dependencies;
  const identity = withBuiltInClients(dependencies.identity, issuer);
  const signIn = createSignIn({
    ...identity,
    rejectionOf: (user, attempt) => rejectionOfSignIn(user, attempt, identity),
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
    replies: {
      client: rejectLimitedClient,
      page: (request, response) => sendErrorPage(request, response, 429, 'tooManyRequests'),
      mail: (request, response) => sendErrorPage(request, response, 429, 'tooManyMails'),
      userCode: rejectUserCode,
    },
  });
  const app = createExactRouting(dependencies.trustedProxies ?? []);
  app.use(fixOrigin(issuer));
  const serve = serveWith(provider, dependencies);
  // The account is a public client, so the fast path reads the registry without it.
  const fast = createMachineTokenIssuer(provider, { ...parts, identity: dependencies.identity });
  const machineTokens = serveMachineTokens(fast, identity);
  addClientEndpoints(app, serve, { identity, issuer, limits, machineTokens });
  app.use(createPageHeaders({ strict: dependencies.securityProfile === 'strict' }));
  addPages(app, serve, {
    ...{ limits, provider, identity, signIn, browserState, csrfTokens, sessions, secure },
    passkeyCeremonies: createPasskeyCeremonies({ issuer, identity, browserState }),
    deviceCookies: createDeviceCookies({ provider, identity, secure }),
    mails: dependencies.mail && identity.mails,
    roundTrips: createUpstreamRoundTrips({
      ...{ identity, issuer, cookies: browserState.roundTrips },
      fetchDeclared: createFetchDeclared(identity, createGuardedFetch(dependencies.outbound)),
    }),
  });
  startMails({ ...dependencies, identity });
  return app;
}

interface ProviderParts extends AppDependencies {
  readonly browserState: BrowserState;
  readonly signIn: SignIn;
  readonly failedSecrets: FailedSecrets;
  readonly tokenBudgets: TokenBudgets;
}

/**
 * @throws StoreUnavailableError when the signing key cannot be read or created
 * @throws Error when another version of oidc-provider is installed than the patches are for
 */
async function openProvider(dependencies: ProviderParts): Promise<Provider> {
  const { issuer, identity, masterKey, securityProfile, now = Date.now } = dependencies;
  const policy = dependencies.signingKeyPolicy;
  const keptSigningKeys = identity.keepSigningKeys('authorization-server', thisServer, {
    now,
    policy,
  });
  const singleUses = createSingleUses(identity, masterKey, securityProfile);
  const settings = providerSettings(dependencies, await keptSigningKeys.load());
  const documents = createMetadataDocuments(identity);
  const provider = new Provider(issuer, {
    ...settings,
    adapter: (model: string) =>
      failClosed(createAdapter(model, dependencies, singleUses.of(model))),
    features: {
      ...settings.features,
      clientIdMetadataDocument: documents.feature,
      deviceFlow: deviceFlow(identity),
      rpInitiatedLogout: logout(identity),
    },
    interactions: {
      policy: createInteractionPolicy(identity),
      url: (_context, interaction) => `/sign-in/${interaction.uid}`,
    },
    loadExistingGrant: createLoadExistingGrant(identity),
    clientBasedCORS: forgetForeignOrigin,
  });
  const { successorOf } = singleUses;
  const fetchDeclared = createFetchDeclared(identity, createGuardedFetch(dependencies.outbound));
  const keySets = createClientKeySets(fetchDeclared);
  applyPatches(provider, { ...dependencies, documents, keySets, formPostPage, successorOf });
  const installKeys = createKeyInstaller(provider, keptSigningKeys);
  // fixOrigin alone sets the proxy headers, so that every URL starts with the issuer.
  provider.proxy = true;
  const steps: readonly ProviderMiddleware[] = [
    // The first steps change every reply, including errors.
    redirectReply,
    removeForeignOrigins,
    clientEndpointReply,
    handleUnexpectedErrors,
    addPollingInterval,
    announceClients(identity),
    countFailedSecrets(dependencies.failedSecrets),
    singleUses.complete,
    explainMistakes,
    completeIntrospection({ identity, issuer }),
    revokeJwtAccessTokens({ identity, issuer }),
    skipLogoutQuestion,
    (_context, next) => installKeys().then(next),
    keepClaimsCurrent(provider),
  ];
  for (const step of steps) {
    provider.use(step);
  }
  if (dependencies.delivering !== undefined) {
    const delivery = { provider, identity, fetchDeclared, installKeys };
    void deliverLogouts(delivery, dependencies.delivering);
  }
  logOutcomes(provider, identity.clients);
  auditProviderEvents(provider, identity);
  registerGrants(provider, dependencies);
  return provider;
}

/** The pages. Browsers store none of them, and their errors are pages as well. */
function addPages(
  app: Express,
  serve: RequestHandler,
  pages: AccountDependencies &
    SignInDependencies &
    SignedOutPages & { readonly limits: Limits; readonly secure: boolean },
): void {
  const { identity } = pages;
  addAssets(app);
  const brandFiles = [operation('brand-file'), serveBrandFiles(identity)];
  app.get(`${BRAND_FILES_PATH}/:hash`, ...brandFiles);
  app.use(asPage, withSealedCookies, readSettings(identity));
  app.get('/', operation('welcome'), serveWelcomePage);
  // Password managers link to this address (W3C, A Well-Known URL for Changing Passwords).
  app.get('/.well-known/change-password', operation('account'), (_request, response) =>
    response.redirect(303, CHANGE_PASSWORD_PATH),
  );
  const form = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 });
  app.post(routes.authorization, operation('authorize'), form, redirectPostedRequest);
  const page = (name: OperationName) => [operation(name), pages.limits.pages];
  const ownForm = (name: OperationName) => [...page(name), rejectForeignForm];
  const addRedirectUri = defaultRedirectUri(identity.clients);
  const choose = chooseLanguage(pages.secure);
  app.post(LANGUAGE_PATH, operation('language'), rejectForeignForm, parseForm, choose);
  const userCodeForm = [...ownForm('device'), ...pages.limits.userCodes];
  app.get(routes.authorization, page('authorize'), addRedirectUri, serve);
  app.get(`${routes.authorization}/:interaction`, page('authorize-resume'), serve);
  app.use('/sign-in', ownForm('sign-in'), createSignInRoutes(pages));
  addSignedOutPages(app, ownForm, pages);
  app.get('/upstream/:upstream/callback', page('upstream-callback'), upstreamCallback);
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

function serveWith(
  provider: Provider,
  { identity, tracer }: Pick<AppDependencies, 'identity' | 'tracer'>,
): RequestHandler {
  const callback = traced(tracer, ['oidc-provider', 'internal'], provider.callback());
  const read = readSettings(identity);
  return (request, response) => read(request, response, () => callback(request, response));
}
