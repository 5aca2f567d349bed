/** How a page is sent: its headers, its language, its notice, and what belongs to the session. */
import { observedRequest } from '@gatehouse/server';
import type { Request, RequestHandler, Response } from 'express';
import helmet from 'helmet';
import type { Cookies } from '../session/cookies.ts';
import type { Session } from '../session/sessions.ts';
import { addressOf, textsFor } from '../view/languages.ts';
import { type DocumentParts, renderDocument } from '../view/layout.ts';
import type { Texts } from '../view/texts-en.ts';

export type Page = Omit<DocumentParts, 'texts' | 'notice' | 'address' | 'frame'> & {
  readonly status?: number;
};

export interface Exchange {
  readonly request: Request;
  readonly response: Response;
  /** With a session, a page has the navigation. */
  readonly session?: Session;
}

export type SendPage = ReturnType<typeof createSendPage>;

export function createSendPage(cookies: Cookies) {
  return (exchange: Exchange, { status = 200, ...page }: Page): void => {
    const { request, response, session } = exchange;
    const texts = textsFor(request);
    const isDocument = request.get('sec-fetch-dest') !== 'empty';
    const notice = session && isDocument ? cookies.takeNotice(request, response) : undefined;
    response.status(status).type('html');
    response.end(
      renderDocument({
        ...page,
        texts,
        notice: noticeText(notice, texts),
        address: addressOf(request),
        frame: session && {
          formToken: session.formToken,
          userName: session.userName,
          mayWrite: session.access.scopes.has('operator:write'),
        },
      }).markup,
    );
  };
}

const noticeText = (name = '', { notices }: Texts) =>
  Object.hasOwn(notices, name) ? notices[name as keyof Texts['notices']] : undefined;

/**
 * The page loads its own files, and sends forms to the console, which redirects a sign-out to the
 * authorization server. Trusted Types turn every use of a text as markup into an error.
 */
export function createPageHeaders(issuer: string): RequestHandler {
  const headers = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'style-src': ["'self'"],
        'img-src': ["'self'"],
        'script-src': ["'self'"],
        'connect-src': ["'self'"],
        'form-action': ["'self'", new URL(issuer).origin],
        'frame-ancestors': ["'none'"],
        'base-uri': ["'none'"],
        'require-trusted-types-for': ["'script'"],
        'trusted-types': ["'none'"],
      },
    },
    referrerPolicy: { policy: 'no-referrer' },
    frameguard: { action: 'deny' },
    // The proxy with the certificate decides.
    strictTransportSecurity: false,
    crossOriginEmbedderPolicy: false,
  });
  return (request, response, next) => {
    response.set('Cache-Control', 'no-store');
    headers(request, response, next);
  };
}

/** The name of the request in log and metrics. */
export const noteOperation =
  (operation: string): RequestHandler =>
  (request, _response, next) => {
    observedRequest(request).notes.operation = operation;
    next();
  };
