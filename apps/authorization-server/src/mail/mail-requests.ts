/**
 * Asks for mails. All requests do the same work for known and unknown names: they add an entry to the
 * queue. mail/compose.ts decides later who gets a mail.
 */
import type { Identity, User } from '@gatehouse/identity';
import type { Request } from 'express';
import { textsFor } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { addressGroupOf } from '../requests/caller.ts';
import { describeUserAgent } from '../requests/user-agent.ts';

/** Requests for new passwords. No id of an organization contains a space. */
const RESETS = 'new passwords';

/** The length of an address. */
export const MAXIMUM_LOGIN_CHARACTERS = 254;

export type MailRequests = ReturnType<typeof createMailRequests>;

/** Each method throws StoreFullError if too many mails are waiting. */
export function createMailRequests({ mails }: Pick<Identity, 'mails'>) {
  const originOf = (request: Request, { language }: Texts = textsFor(request)) => ({
    at: Date.now(),
    from: addressGroupOf(request),
    ...describeUserAgent(request.get('user-agent')),
    locale: language,
  });
  return {
    /** @param login a username or address, as entered */
    requestReset: (login: string, request: Request): Promise<void> =>
      mails.add(RESETS, {
        kind: 'reset',
        login: login.slice(0, MAXIMUM_LOGIN_CHARACTERS),
        ...originOf(request),
      }),
    /** The address becomes that of the user when the link is confirmed. */
    requestVerification: (
      { orgId, userId }: Pick<User, 'orgId' | 'userId'>,
      email: string,
      request: Request,
    ): Promise<void> => mails.add(orgId, { kind: 'verify', userId, email, ...originOf(request) }),
    /** @param email a valid address */
    requestRegistration: (
      { orgId, email }: { readonly orgId: string; readonly email: string },
      request: Request,
      texts: Texts,
    ): Promise<void> =>
      mails.add(orgId, { kind: 'register', orgId, email, ...originOf(request, texts) }),
  };
}
