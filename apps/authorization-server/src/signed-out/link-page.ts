/**
 * The page behind a link in a mail, or of an operator. Opening it changes nothing, because mail programs
 * open links. Its form uses the link up. The address has the only copy of the token.
 */
import { type Html, html } from '@gatehouse/server';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { rejectMethods, sendErrorPage } from '../pages/error-page.ts';
import { formField, type NoticeTexts, noticePage, parseForm } from '../pages/page.ts';
import { contextOf } from '../requests/request-context.ts';

interface LinkPage<Found> {
  readonly path: string;
  /** Precede the form. */
  readonly limits?: readonly RequestHandler[];
  /** What the link of this token is for. Undefined if it cannot be used now. */
  readonly find: (token: string) => Promise<(Found & { readonly orgId: string }) | undefined>;
  readonly show: (exchange: LinkExchange<Found>) => Promise<void> | void;
  /** Handles the form. @returns undefined after a reply */
  readonly submit: (exchange: LinkExchange<Found>) => Promise<'done' | 'invalid' | undefined>;
  readonly done: NoticeTexts;
}

export interface LinkExchange<Found> {
  readonly request: Request;
  readonly response: Response;
  readonly token: string;
  readonly found: Found;
}

export function createLinkPage<Found>(page: LinkPage<Found>): Router {
  const { path, limits = [], find, show, submit, done } = page;
  const router = Router({ caseSensitive: true, strict: true });
  const rejectLink = (request: Request, response: Response) =>
    sendErrorPage(request, response, 400, 'linkInvalid');

  /** Its page has the brand of the organization. */
  async function open(request: Request, response: Response, token: string) {
    const found = await find(token);
    if (found === undefined) {
      rejectLink(request, response);
      return undefined;
    }
    contextOf(request).orgId = found.orgId;
    return { request, response, token, found };
  }

  router.get('/', async (request, response) => {
    const exchange = await open(request, response, String(request.query.token ?? ''));
    await (exchange && show(exchange));
  });
  router.post('/', parseForm, ...limits, async (request, response) => {
    const exchange = await open(request, response, formField(request, 'token'));
    const result = exchange && (await submit(exchange));
    if (result === 'done') {
      response.redirect(303, `${path}/done`);
    } else if (result === 'invalid') {
      rejectLink(request, response);
    }
  });
  router.get('/done', noticePage(done, { address: '/account', label: 'openAccount' }));
  router.use(rejectMethods(router));
  return router;
}

/** The forms of the page carry the token. */
export const tokenField = (token: string): Html =>
  html`<input type="hidden" name="token" value="${token}">`;
