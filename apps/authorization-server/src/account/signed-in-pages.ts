import type { Request, RequestHandler, Response } from 'express';
import type { CsrfTokens } from '../pages/csrf-token.ts';
import { sendErrorPage } from '../pages/error-page.ts';
import { formField } from '../pages/form-field.ts';
import type { AccountSessions, SignedIn } from './account-session.ts';
import { accountSignInAddress } from './sign-in-address.ts';

export type SignedInHandler = (
  request: Request,
  response: Response,
  who: SignedIn,
) => Promise<void> | void;

/** The two ways into the account: no handler behind them runs without a person. */
export interface SignedInPages {
  /** A page of the signed-in person; anybody else signs in first. */
  page(handle: SignedInHandler): RequestHandler;
  /** A form of theirs: without a session, or with another one's token, nothing happens. */
  form(handle: SignedInHandler): RequestHandler;
}

export function createSignedInPages(dependencies: {
  readonly sessions: AccountSessions;
  readonly csrfTokens: CsrfTokens;
  readonly issuer: string;
}): SignedInPages {
  const { sessions, csrfTokens, issuer } = dependencies;
  return {
    page: (handle) => async (request, response) => {
      const who = await sessions.current(request, response);
      if (who === undefined) {
        response.redirect(303, accountSignInAddress(issuer));
        return;
      }
      await handle(request, response, who);
    },
    form: (handle) => async (request, response) => {
      const who = await sessions.current(request, response);
      if (who === undefined || !csrfTokens.verify(who.formOwner, formField(request, 'csrf'))) {
        sendErrorPage(request, response, 403, 'formRefused');
        return;
      }
      await handle(request, response, who);
    },
  };
}
