/** Every error that a browser sees is a page, with the reference that the log line has. */
import type { IncomingMessage } from 'node:http';
import type { FailureReasonName } from '@gatehouse/errors';
import { fill, type Html, html, observedRequest, sentence } from '@gatehouse/server';
import type { ErrorRequestHandler, Request, RequestHandler, Response, Router } from 'express';
import { type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { failureOf } from '../requests/failures.ts';
import { brandOf, contactLink } from './branding.ts';
import { addressOf } from './languages.ts';
import { hasCookies, linkButton, type Page, sendPage, showPage, textsFor } from './page.ts';
import type { TextName, Texts } from './texts-en.ts';

/**
 * The errors that are pages, with the reason of each unless a finer one was noted. Each name is the
 * code in the log and the key of the text.
 */
export const pageErrors = {
  signInExpired: 'sign_in_expired',
  signInStartAgain: 'sign_in_expired',
  signInCompleted: 'sign_in_expired',
  tooManyAttempts: 'sign_in_address_limit',
  tooManyRequests: 'request_limit',
  formRefused: 'form_refused',
  wasSignedOut: 'form_refused',
  unavailable: 'store_unavailable',
  unexpected: 'unexpected_error',
  notFound: 'not_found',
  badRequest: 'form_refused',
  methodNotAllowed: 'method_not_allowed',
  linkInvalid: 'link_invalid',
  tooManyMails: 'request_limit',
  upstreamFailed: 'upstream_failed',
  upstreamRefused: 'upstream_not_linked',
  upstreamTaken: 'upstream_not_linked',
  cookiesNeeded: 'cookies_missing',
  cookiesBlocked: 'cookies_missing',
} as const satisfies Readonly<Record<string, FailureReasonName>>;

export type PageError = keyof typeof pageErrors;

/** The codes of forms that are shown again with a problem. The sign-in has noted its reason. */
export const formProblems = {
  signInFailed: 'password_wrong',
  passwordRefused: 'password_change_refused',
  profileRefused: 'account_form_invalid',
  removalRefused: 'account_form_invalid',
  codeRefused: 'second_factor_wrong',
  passkeyRefused: 'passkey_wrong',
  accountRefused: 'account_form_invalid',
} as const satisfies Readonly<Record<string, FailureReasonName>>;

/** A link, by its text. */
export interface NextStep {
  readonly address: string;
  readonly label: TextName;
}

const startPage: NextStep = { address: '/', label: 'startPage' };

/**
 * The browser still has the interaction, or the mark of its end, but it cannot be used. It
 * continues at another address by itself, or with a link.
 */
export class InteractionGoneError extends errors.SessionNotFound {
  readonly reply: (request: Request, response: Response) => void;

  constructor(reply: InteractionGoneError['reply']) {
    super('the interaction has expired');
    this.reply = reply;
  }
}

/** Handles every error of a page. */
export const handlePageError: ErrorRequestHandler = (error, request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  if (error instanceof InteractionGoneError) {
    error.reply(request, response);
    return;
  }
  // The status is that of a body parser or of the library.
  const failure = error?.status === undefined ? failureOf(error) : undefined;
  const status = Number(failure?.status ?? error.status);
  const { notes } = observedRequest(request);
  if (status >= 500) {
    notes.err = error;
  }
  if (failure !== undefined) {
    notes.reason = failure.reason;
  }
  if (failure?.retryAfterSeconds !== undefined) {
    response.set('Retry-After', String(failure.retryAfterSeconds));
  }
  if (error instanceof errors.SessionNotFound) {
    sendErrorPage(request, response, 400, hasCookies(request) ? 'signInExpired' : 'cookiesBlocked');
  } else {
    sendErrorPage(request, response, status === 415 ? 400 : status, messageOf(status));
  }
};

export function messageOf(status: number): PageError {
  if (status >= 500) {
    return status === 503 ? 'unavailable' : 'unexpected';
  }
  return status === 429 ? 'tooManyAttempts' : 'badRequest';
}

/** Notes code and reason for the log, unless finer ones were noted. */
export function noteFailure(
  request: IncomingMessage,
  code: string,
  reason: FailureReasonName,
): void {
  const { notes } = observedRequest(request);
  notes.code ??= code;
  notes.reason ??= reason;
}

/** Before a form is shown again with a problem. */
export function rejectForm(response: Response, code: keyof typeof formProblems): void {
  noteFailure(response.req, code, formProblems[code]);
  response.status(422);
}

/** What helps after some time. */
const transient: readonly PageError[] = ['tooManyRequests', 'unavailable', 'unexpected'];

export function sendErrorPage(
  request: Request,
  response: Response,
  status: number,
  message: PageError,
  next?: NextStep,
): void {
  noteFailure(request, message, pageErrors[message]);
  const texts = textsFor(request);
  if (status === 503) {
    response.set('Retry-After', '1');
  }
  response.status(status);
  const isRepeatable = transient.includes(message) && ['GET', 'HEAD'].includes(request.method);
  const again: NextStep = { address: addressOf(request), label: 'tryAgain' };
  const step = next ?? (isRepeatable ? again : startPage);
  sendPage(response, errorPage(texts, request, message, { next: step }));
}

/** The part of a router's layer that lists the methods of a path. */
interface Layer {
  readonly route?: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): boolean;
}

/**
 * RFC 9110 §15.5.6: a path that exists for other methods is 405, and `Allow` names them. Mount it
 * after all routes of the router.
 */
export function rejectMethods(router: Pick<Router, 'stack'>): RequestHandler {
  return (request, response, next) => {
    const methods = (router.stack as unknown as readonly Layer[])
      .filter((layer) => layer.route !== undefined && layer.match(request.path))
      .flatMap((layer) => Object.keys(layer.route?.methods ?? {}));
    if (methods.length === 0) {
      next();
      return;
    }
    const allowed = methods.flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : method));
    const names = new Set(allowed.map((method) => method.toUpperCase()));
    response.set('Allow', [...names].sort().join(', '));
    sendErrorPage(request, response, 405, 'methodNotAllowed');
  };
}

const noLogoutDetails = 'could not find logout details';

/**
 * The library's messages for a form with a missing or foreign token. Gatehouse's own forms reply
 * with 403.
 */
export const rejectedForms: ReadonlySet<string> = new Set([
  'xsrf token invalid',
  noLogoutDetails,
  'could not find device form details',
]);

/** The part of Koa's context that a page needs. */
type PageContext = Pick<
  KoaContextWithOIDC,
  'status' | 'type' | 'body' | 'req' | 'set' | 'headers' | 'acceptsLanguages'
> & { readonly oidc?: Pick<KoaContextWithOIDC['oidc'], 'session' | 'client'> | undefined };

/** The provider's `renderError`: an error without a trusted redirect URI. */
export function renderErrorPage(context: PageContext, out: ErrorOut): void {
  const texts = textsFor(context);
  const { error, error_description: description = '' } = out;
  if (rejectedForms.has(description)) {
    context.status = 403;
    const isSignedOut =
      description === noLogoutDetails && context.oidc?.session?.accountId === undefined;
    const rejection = isSignedOut ? 'wasSignedOut' : 'formRefused';
    const message = hasCookies(context.req) ? rejection : 'cookiesBlocked';
    showPage(context, errorPage(texts, context.req, message));
    return;
  }
  const detail = [error, description].filter(Boolean).join(': ');
  const address = homeOf(context.oidc?.client?.redirectUris?.[0]);
  const next: NextStep = address ? { address, label: 'returningTitle' } : startPage;
  showPage(context, errorPage(texts, context.req, messageOf(context.status), { detail, next }));
}

/** The home page of an application, from its redirect URI, which would need a code. An app has none. */
export function homeOf(redirectUri: unknown): string | undefined {
  const url = URL.parse(String(redirectUri));
  return url === null || url.origin === 'null' ? undefined : `${url.origin}/`;
}

function errorPage(
  texts: Texts,
  request: IncomingMessage,
  message: PageError,
  /** `detail` is the standard's code and description, for the application's developer. */
  { detail, next = startPage }: { readonly detail?: string; readonly next?: NextStep } = {},
): Page {
  const title = texts.errorTitles[message];
  const reference = fill(texts.errorReference, { reference: observedRequest(request).id });
  const help = helpNotice(request, texts);
  const content = html`<p>${texts[message]}</p>
${detail === undefined ? undefined : html`<p class="detail" translate="no">${detail}</p>`}
${linkButton(next.address, texts[next.label])}
<p class="small">${reference}${help && html`<br>${help}`}</p>`;
  return { texts, title, content };
}

/** Names the contact that the operator declared, if there is one. */
export function helpNotice(request: IncomingMessage, texts: Texts): Html | undefined {
  const contact = contactLink(brandOf(request));
  return contact && sentence(texts.helpContact, { contact });
}
