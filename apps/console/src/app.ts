/**
 * The console: server-rendered screens for operators, over @gatehouse/operators.
 *
 *   frame/ (sign-in, routes of screens, errors, headers) ─▶ session/ (OAuth client, sessions, cookies)
 *     └▶ pages/ (one file a screen) ─▶ view/ (parts of pages, texts, styles)
 *   api/ (the management API, /admin/v1: no cookie opens it)
 *
 * Not here: rules of records (@gatehouse/operators) and of tokens (@gatehouse/identity).
 */
import type { RequestListener } from 'node:http';
import {
  consoleSecret,
  type Identity,
  type MasterKey,
  type SigningKeyPolicy,
} from '@gatehouse/identity';
import { openOperators } from '@gatehouse/operators';
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import express from 'express';
import { apiOperations, serveApi } from './api/serve-api.ts';
import type { Configuration } from './config.ts';
import { handleErrors, rejectUnknown } from './frame/errors.ts';
import { addExports, exportOperations } from './frame/exports.ts';
import { addRequestStreams, streamOperations } from './frame/request-streams.ts';
import { createPageHeaders, createSendPage } from './frame/send-page.ts';
import { addScreens, operationsOf } from './frame/serve-screens.ts';
import { createSignIn, signInOperations } from './frame/sign-in.ts';
import { screens } from './pages/index.ts';
import { createCookies } from './session/cookies.ts';
import { createIssuer } from './session/issuer.ts';
import { createSessions } from './session/sessions.ts';
import { addAssets } from './view/assets.ts';
import { chooseLanguage, LANGUAGE_PATH } from './view/languages.ts';

/** The names in log and metrics. */
export const operations: readonly string[] = [
  ...apiOperations,
  ...signInOperations,
  ...exportOperations,
  ...streamOperations,
  ...operationsOf(screens),
];

export function createApp(
  dependencies: Pick<Configuration, 'issuer' | 'internalUrl' | 'consoleUrl' | 'trustedProxies'> & {
    readonly deviceService?: Configuration['deviceService'];
    readonly explorerUrl?: Configuration['explorerUrl'];
    readonly identity: Identity;
    readonly masterKey: MasterKey;
    readonly masterKeyFile?: string;
    readonly signingKeyPolicy?: SigningKeyPolicy;
    /** Epoch milliseconds. */
    readonly now?: () => number;
    /** Settings of the store with which it may lose writes. */
    readonly storeWarnings?: () => readonly string[];
    /** Ends streams when the server stops. */
    readonly stopping?: AbortSignal;
    /** How often a page that follows requests looks for new ones. By default, every two seconds. */
    readonly pollMilliseconds?: number;
  },
): RequestListener {
  const { identity, masterKey, consoleUrl, now = Date.now } = dependencies;
  const secure = consoleUrl.startsWith('https:');
  const issuer = createIssuer({ ...dependencies, clientSecret: consoleSecret(masterKey), now });
  const sessions = createSessions({ identity, issuer, now });
  const cookies = createCookies({ secure, masterKey, now });
  const sendPage = createSendPage(cookies);
  const signIn = createSignIn({ identity, issuer, sessions, cookies, sendPage, now });
  const isPublic = !isLoopbackUrl(dependencies.issuer);
  const operators = openOperators(identity, { ...dependencies, isPublic });
  const form = express.urlencoded({ extended: false, limit: '64kb', parameterLimit: 200 });

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', [...dependencies.trustedProxies]);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(serveApi({ ...dependencies, operators, now }));
  app.use(createPageHeaders(dependencies.issuer));
  addAssets(app);
  app.get('/', (_request, response) => response.redirect(303, '/overview'));
  app.post(LANGUAGE_PATH, form, chooseLanguage(secure));
  signIn.addRoutes(app, form);
  const shared = { ...dependencies, operators, sessions, signIn, cookies, sendPage, now };
  addExports(app, shared);
  addRequestStreams(app, shared);
  addScreens(app, screens, form, shared);
  app.use(rejectUnknown(app.router));
  app.use(handleErrors(sendPage));
  return app;
}
