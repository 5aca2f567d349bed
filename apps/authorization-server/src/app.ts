/**
 * The authorization server's composition root: every route, with what it depends on.
 * A path that is not listed here does not reach the provider, whatever its router would make of it.
 */
import type { RequestListener } from 'node:http';
import { observedRequest } from '@gatehouse/http-server';
import { type Identity, loadSigningKey, type MasterKey } from '@gatehouse/identity';
import express, { type RequestHandler } from 'express';
import { defaultParameters } from './authorize/default-parameters.ts';
import { fixOrigin } from './http/fix-origin.ts';
import { noStore, pageHeaders } from './http/page-headers.ts';
import { createProvider } from './provider/create-provider.ts';
import { createCsrfTokens } from './sign-in/csrf-token.ts';
import { handlePageError, sendErrorPage } from './sign-in/error-page.ts';
import { createSignInRoutes } from './sign-in/sign-in-routes.ts';
import { serveStylesheet } from './sign-in/stylesheet.ts';
import { STYLESHEET_PATH } from './sign-in/views/layout.ts';
import { tokenTransport } from './token/token-transport.ts';

export interface AppDependencies {
  readonly identity: Identity;
  readonly masterKey: MasterKey;
  readonly issuer: string;
  readonly cookieKeys: readonly string[];
}

/** @throws StoreUnavailable when the signing key cannot be read or made */
export async function createApp(dependencies: AppDependencies): Promise<RequestListener> {
  const { identity, issuer } = dependencies;
  const provider = createProvider(issuer, {
    identity,
    signingKey: await loadSigningKey('authorization-server', 'RS256', identity),
    cookieKeys: dependencies.cookieKeys,
    secureCookies: issuer.startsWith('https:'),
  });
  const callback = provider.callback();
  const serve: RequestHandler = (request, response) => callback(request, response);
  const csrfTokens = createCsrfTokens(dependencies.masterKey);

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(pageHeaders, fixOrigin(issuer));

  app.get(STYLESHEET_PATH, operation('stylesheet'), serveStylesheet);
  app.get('/jwks', operation('jwks'), serve);
  app.get('/.well-known/openid-configuration', operation('discovery'), serve);
  app.get('/.well-known/oauth-authorization-server', operation('discovery'), serve);
  app.all('/token', operation('token'), tokenTransport, serve);

  app.use(noStore);
  app.get('/authorize', operation('authorize'), asPage, defaultParameters(identity.clients), serve);
  app.get('/authorize/:interaction', operation('authorize-resume'), asPage, serve);
  app.use('/sign-in', operation('sign-in'), createSignInRoutes({ provider, identity, csrfTokens }));
  app.use((request, response) => sendErrorPage(request, response, 404, 'notFound'));
  app.use(handlePageError);
  return app;
}

/** The request's name in log and metrics. */
function operation(name: string): RequestHandler {
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
