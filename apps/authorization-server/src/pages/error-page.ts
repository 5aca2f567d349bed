import type { IncomingMessage } from 'node:http';
import type { FailureReasonName } from '@gatehouse/errors';
import { PasswordHashingBusyError } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { TooManyAttemptsError } from '../requests/too-many-attempts-error.ts';
import { errorView, type NextStep } from './error-view.ts';
import { hasCookies } from './has-cookies.ts';
import { InteractionGoneError } from './interaction-gone-error.ts';
import { pageLanguage } from './language.ts';
import { renderPage } from './layout.ts';
import { type PageError, pageErrors } from './page-errors.ts';
import type { PlainText, Texts } from './texts.ts';

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

/** The headings of pages that are not about a mistake. */
const titles: Partial<Record<PageError, PlainText>> = {
  signInCompleted: 'returningTitle',
  wasSignedOut: 'signedOutTitle',
};

/** The part of Koa's context that a page needs. */
type PageContext = Pick<
  KoaContextWithOIDC,
  'status' | 'type' | 'body' | 'req' | 'acceptsLanguages'
> & { readonly oidc?: Pick<KoaContextWithOIDC['oidc'], 'session'> | undefined };

/** The provider's `renderError`: an error without a trusted redirect URI. */
export function renderErrorPage(context: PageContext, out: ErrorOut): void {
  const { language, texts } = pageLanguage(context);
  const isRejectedForm = rejectedForms.has(out.error_description ?? '');
  if (isRejectedForm) {
    context.status = 403;
  }
  const isSignedOut =
    out.error_description === noLogoutDetails &&
    context.oidc?.session?.accountId === undefined &&
    hasCookies(context.req);
  const refusal = isSignedOut ? texts.wasSignedOut : texts.formRefused;
  const rejection = hasCookies(context.req) ? refusal : texts.cookiesBlocked;
  const message = isRejectedForm ? rejection : messageFor(context.status, texts);
  context.type = 'html';
  context.body = page(language, texts, {
    title: isSignedOut ? texts.signedOutTitle : texts.errorTitle,
    message,
    detail: isRejectedForm
      ? undefined
      : [out.error, out.error_description].filter(Boolean).join(': '),
    reference: observedRequest(context.req).id,
  });
}

/** Handles every error of a page. */
export const handlePageError: ErrorRequestHandler = (error, request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  const { status, pick } = classify(error, request);
  const { notes } = observedRequest(request);
  if (status >= 500) {
    notes.err = error;
  }
  if (error instanceof PasswordHashingBusyError) {
    notes.reason = 'password_hashing_busy';
  }
  if (error instanceof TooManyAttemptsError) {
    notes.reason = error.reason;
    response.set('Retry-After', String(error.retryAfterSeconds));
  }
  if (!(error instanceof InteractionGoneError) || error.address === undefined) {
    sendErrorPage(request, response, status, pick);
  } else if (error.kind === 'expired') {
    response.redirect(303, error.address);
  } else {
    const label = error.kind === 'completed' ? 'returningContinue' : 'startAgain';
    sendErrorPage(request, response, status, pick, { address: error.address, label });
  }
};

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

export function sendErrorPage(
  request: Request,
  response: Response,
  status: number,
  message: PageError,
  next?: NextStep,
): void {
  noteFailure(request, message, pageErrors[message]);
  const { language, texts } = pageLanguage(request);
  if (status === 503) {
    response.set('Retry-After', '1');
  }
  response
    .status(status)
    .type('html')
    .end(
      page(language, texts, {
        title: texts[titles[message] ?? 'errorTitle'],
        message: texts[message],
        detail: undefined,
        next,
        reference: observedRequest(request).id,
      }),
    );
}

function classify(error: unknown, request: Request): { status: number; pick: PageError } {
  if (error instanceof TooManyAttemptsError) {
    return { status: 429, pick: 'tooManyAttempts' };
  }
  if (isUnavailable(error) || isStatus(error, 503)) {
    return { status: 503, pick: 'unavailable' };
  }
  if (error instanceof InteractionGoneError && error.kind === 'completed') {
    return { status: 400, pick: 'signInCompleted' };
  }
  if (error instanceof InteractionGoneError && error.address !== undefined) {
    return { status: 400, pick: 'signInStartAgain' };
  }
  if (error instanceof errors.SessionNotFound) {
    return { status: 400, pick: hasCookies(request) ? 'signInExpired' : 'cookiesBlocked' };
  }
  if (isStatus(error, 413)) {
    return { status: 413, pick: 'badRequest' };
  }
  if (isStatus(error, 400) || isStatus(error, 415)) {
    return { status: 400, pick: 'badRequest' };
  }
  return { status: 500, pick: 'unexpected' };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof StoreUnavailableError || error instanceof PasswordHashingBusyError;
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof Error && 'status' in error && error.status === status;
}

function messageFor(status: number, texts: Texts): string {
  if (status === 503) {
    return texts.unavailable;
  }
  if (status === 429) {
    return texts.tooManyAttempts;
  }
  return status >= 500 ? texts.unexpected : texts.badRequest;
}

function page(language: string, texts: Texts, view: Parameters<typeof errorView>[0]): string {
  return renderPage({ language, title: view.title, content: errorView(view, texts) });
}
