import type { RequestHandler } from 'express';
import helmet from 'helmet';
import { providerRoutes as routes } from '../requests/routes.ts';
import { sendErrorPage } from './error-page.ts';
import { contentSecurityPolicy } from './page.ts';

/** Pages that an application may open in a popup: those of a sign-in and of a sign-out. */
const popupPaths = [routes.authorization, '/sign-in', '/upstream', routes.end_session];

/**
 * The strictest policy is the default. A page whose form leads elsewhere adds that target to
 * `form-action`. With any Cross-Origin-Opener-Policy on a page or redirect of its flow, a popup
 * would lose its opener permanently, so that the application never learns the result.
 */
export function createPageHeaders(options: { readonly strict: boolean }): RequestHandler {
  const separated = helmet(policies);
  const inPopup = helmet({ ...policies, crossOriginOpenerPolicy: false });
  return (request, response, next) => {
    const isPopup = popupPaths.some((path) => `${request.path}/`.startsWith(`${path}/`));
    const apply = isPopup && !options.strict ? inPopup : separated;
    response.set('Content-Security-Policy', contentSecurityPolicy());
    apply(request, response, next);
  };
}

const policies = {
  contentSecurityPolicy: false,
  referrerPolicy: { policy: 'no-referrer' },
  frameguard: { action: 'deny' },
  strictTransportSecurity: false,
  crossOriginEmbedderPolicy: false,
} as const;

/** Browsers store no page. Errors are pages for every `Accept` header. */
export const asPage: RequestHandler = (request, response, next) => {
  request.headers.accept = 'text/html';
  response.set('Cache-Control', 'no-store');
  next();
};

/**
 * Rejects forms that another site posts. Browsers report the site in a header that pages cannot
 * forge. Where a browser omits it, the token of the form protects it. `Origin` does not help:
 * Gatehouse's Referrer-Policy makes it `null`.
 */
export const rejectForeignForm: RequestHandler = (request, response, next) => {
  const site = request.get('sec-fetch-site') ?? 'same-origin';
  if (request.method === 'POST' && site !== 'same-origin' && site !== 'none') {
    sendErrorPage(request, response, 403, 'formRefused');
  } else {
    next();
  }
};
