/** The pages behind links in mails and of operators, and the page that asks for a mail. */
import type { Identity } from '@gatehouse/identity';
import type { Express, RequestHandler } from 'express';
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
  readonly limits: Pick<Limits, 'mails' | 'accountForms'>;
  /** Undefined without a mail server. Links of operators work without one. */
  readonly mails: Identity['mails'] | undefined;
}

export function addSignedOutPages(
  app: Express,
  ownForm: (name: OperationName) => readonly RequestHandler[],
  { identity, limits, mails }: SignedOutPages,
): void {
  const creation = createAccountCreationRoutes(identity, limits.accountForms);
  app.use(
    RESET_PASSWORD_PATH,
    ...ownForm('reset-password'),
    createResetRoutes({ identity, mails }),
  );
  app.use(
    VERIFY_EMAIL_PATH,
    ...ownForm('verify-email'),
    createVerifyEmailRoutes({ identity, mails }),
  );
  app.use(CREATE_ACCOUNT_PATH, ...ownForm('create-account'), creation);
  if (mails !== undefined) {
    const forgot = createForgotPasswordRoutes(mails, limits.mails);
    app.use(FORGOT_PASSWORD_PATH, ...ownForm('forgot-password'), forgot);
  }
}
