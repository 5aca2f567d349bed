import type { Request, RequestHandler, Response } from 'express';
import type { CsrfTokens } from '../pages/csrf-token.ts';
import { sendErrorPage } from '../pages/error-page.ts';
import { formField } from '../pages/form-field.ts';
import { hasCookies } from '../pages/has-cookies.ts';
import type { AccountSessions, SignedIn } from './account-session.ts';
import { accountSignInAddress } from './sign-in-address.ts';

export type SignedInHandler = (
  request: Request,
  response: Response,
  signedIn: SignedIn,
) => Promise<void> | void;

/** The two ways into the account. Handlers run only for a signed-in user. */
export interface SignedInPages {
  /** A page of the signed-in user. Other browsers are redirected to the sign-in. */
  page(handle: SignedInHandler): RequestHandler;
  /**
   * A form of the signed-in user. Without a session, or with the token of another one, it is
   * rejected.
   */
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
      const signedIn = await sessions.current(request, response);
      if (signedIn === undefined) {
        response.redirect(303, accountSignInAddress(issuer, request.baseUrl + request.path));
        return;
      }
      await handle(request, response, signedIn);
    },
    form: (handle) => async (request, response) => {
      const signedIn = await sessions.current(request, response);
      if (signedIn === undefined) {
        const next = { address: '/account', label: 'signInAgain' } as const;
        const message = hasCookies(request) ? 'wasSignedOut' : 'formRefused';
        sendErrorPage(request, response, 403, message, next);
        return;
      }
      if (!csrfTokens.verify(signedIn.formOwner, formField(request, 'csrf'))) {
        sendErrorPage(request, response, 403, 'formRefused');
        return;
      }
      await handle(request, response, signedIn);
    },
  };
}
