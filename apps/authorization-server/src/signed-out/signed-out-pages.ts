/** The pages behind links in mails and of operators, and the page that asks for a mail. */
import type { Identity } from '@gatehouse/identity';
import type { Express, RequestHandler } from 'express';
import type { MailRequests } from '../mail/mail-requests.ts';
import type { CsrfTokens } from '../pages/page.ts';
import type { BrowserState } from '../provider/browser-state.ts';
import type { OperationName } from '../requests/routes.ts';
import {
  CREATE_ACCOUNT_PATH,
  FORGOT_PASSWORD_PATH,
  RESET_PASSWORD_PATH,
  VERIFY_EMAIL_PATH,
} from '../requests/routes.ts';
import type { Limits } from '../throttle/limits.ts';
import { createAccountCreationRoutes } from './create-account.ts';
import { createForgotPasswordRoutes } from './forgot-password.ts';
import { createResetRoutes } from './reset-password.ts';
import { createVerifyEmailRoutes } from './verify-email.ts';

export interface SignedOutPages {
  readonly identity: Identity;
  readonly csrfTokens: CsrfTokens;
  readonly browserState: Pick<BrowserState, 'forgotPasswords'>;
  readonly limits: Pick<Limits, 'mails' | 'accountForms'>;
  /** Undefined without a mail server. Links of operators work without one. */
  readonly mails: MailRequests | undefined;
}

export function addSignedOutPages(
  app: Express,
  ownForm: (name: OperationName) => readonly RequestHandler[],
  pages: SignedOutPages,
): void {
  const { mails, limits } = pages;
  const creation = createAccountCreationRoutes({ ...pages, limit: limits.accountForms });
  app.use(RESET_PASSWORD_PATH, ...ownForm('reset-password'), createResetRoutes(pages));
  app.use(VERIFY_EMAIL_PATH, ...ownForm('verify-email'), createVerifyEmailRoutes(pages));
  app.use(CREATE_ACCOUNT_PATH, ...ownForm('create-account'), creation);
  if (mails !== undefined) {
    const forgot = createForgotPasswordRoutes({ ...pages, mails, limit: limits.mails });
    app.use(FORGOT_PASSWORD_PATH, ...ownForm('forgot-password'), forgot);
  }
}
