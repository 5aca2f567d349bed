/**
 * Turns what someone asked for into a mail, when it is sent: looks the user up, and issues the link.
 * Every mail is plain text and HTML with the same sentences.
 * Only an address that its user verified gets a link for an existing account.
 */

import type { Identity, User, UserChange, WantedLink, WantedMail } from '@gatehouse/identity';
import { fill, html, plainName } from '@gatehouse/server';
import { StoreFullError } from '@gatehouse/store';
import type { Request } from 'express';
import { browserName, textsFor, textsOf } from '../pages/languages.ts';
import type { TextName, Texts } from '../pages/texts-en.ts';
import { addressGroupOf, recordEvent } from '../requests/caller.ts';
import { CREATE_ACCOUNT_PATH, RESET_PASSWORD_PATH, VERIFY_EMAIL_PATH } from '../requests/routes.ts';
import { describeUserAgent } from '../requests/user-agent.ts';
import type { Mail } from './mailer.ts';

/**
 * What a mail reports about the request that caused it. All requests do the same work for known and
 * unknown names: they add an entry to the queue.
 */
export function mailOrigin(request: Request, { language }: Texts = textsFor(request)) {
  return {
    at: Date.now(),
    from: addressGroupOf(request),
    ...describeUserAgent(request.get('user-agent')),
    locale: language,
  };
}

export interface ChangeDependencies {
  readonly identity: Identity;
  /** Undefined without a mail server. */
  readonly mails: Identity['mails'] | undefined;
}

/** Audits how a user changed the ways to sign in, and reports it to the user. */
export async function recordChange(
  request: Request,
  user: User,
  change: UserChange,
  dependencies: ChangeDependencies,
): Promise<void> {
  const event = { event: 'user_changed', userId: user.userId, change } as const;
  recordEvent(request, event, dependencies.identity);
  await reportChange(request, user, change, dependencies);
}

/**
 * Mails the user about a change that was made. Without room for the mail, it only appears in the
 * audit trail.
 *
 * @param before the change: a new address must not hide it from the owner of the former one
 */
export async function reportChange(
  request: Request,
  before: Pick<User, 'userId' | 'orgId' | 'email' | 'emailVerified'>,
  change: UserChange,
  { identity, mails }: ChangeDependencies,
): Promise<void> {
  const { userId, orgId, email, emailVerified } = before;
  if (email === undefined || !emailVerified) {
    return;
  }
  const mail = { kind: 'changed', userId, email, change, ...mailOrigin(request) } as const;
  await mails?.add(orgId, mail).catch((error: unknown) => {
    if (!(error instanceof StoreFullError)) {
      throw error;
    }
    const event = { event: 'mail_undelivered', userId, mail: mail.kind } as const;
    recordEvent(request, event, identity);
  });
}

/** What changed, by its name in the audit trail. */
const changes: Readonly<Partial<Record<UserChange, TextName>>> = {
  password_changed: 'password',
  changed: 'accountEmail',
  email_verified: 'accountEmail',
  factor_enrolled: 'factorTitle',
  factors_removed: 'factorTitle',
  recovery_codes_renewed: 'recoveryTitle',
  recovery_code_used: 'recoveryTitle',
  passkey_added: 'passkeysTitle',
  passkey_removed: 'passkeysTitle',
};

interface Letter {
  readonly to: string;
  readonly user?: User;
  readonly organization?: string | undefined;
  readonly change?: TextName | undefined;
  /** Undefined: the mail only reports that there is an account, or a change. */
  readonly link?: WantedLink;
}

/** Where links lead, and how long they work (packages/identity/src/tokens/action-links.ts). */
const links = {
  reset: { path: RESET_PASSWORD_PATH, validity: 'mailValidHour' },
  verify: { path: VERIFY_EMAIL_PATH, validity: 'mailValidDay' },
  register: { path: CREATE_ACCOUNT_PATH, validity: 'mailValidDay' },
  invite: { path: CREATE_ACCOUNT_PATH, validity: 'mailValidWeek' },
} as const;

/**
 * @param isFirst the first attempt counts for the limits
 * @returns undefined if nobody gets a mail
 */
export async function composeMail(
  wanted: WantedMail,
  isFirst: boolean,
  { identity, issuer }: { readonly identity: Identity; readonly issuer: string },
): Promise<(Mail & { readonly userId: string | undefined }) | undefined> {
  const letter = await letterFor(wanted, identity);
  if (letter === undefined) {
    return undefined;
  }
  const { to, user, organization = '', change, link } = letter;
  const isLimited = isFirst && wanted.kind !== 'invite';
  if (isLimited && !(await identity.mails.mayMail(wanted.kind, to, user?.userId))) {
    return undefined;
  }
  const token = 'token' in wanted ? wanted.token : link && (await identity.actionLinks.issue(link));
  if (link !== undefined && token === undefined) {
    return undefined;
  }
  const texts = textsOf(user?.locale ?? wanted.locale);
  const { subject, lead, label } = texts.mails[change ? 'changed' : (link?.kind ?? 'exists')];
  const values = {
    host: new URL(issuer).host,
    organization: plainName(organization),
    username: plainName(user?.username ?? ''),
    change: change === undefined ? '' : texts[change],
  };
  const address = link ? `${issuer}${links[link.kind].path}?token=${token}` : `${issuer}/account`;
  const notes = [
    ...(link === undefined ? [] : [texts[links[link.kind].validity]]),
    ...(wanted.from === undefined ? [] : [originOf(wanted, texts)]),
    change ? texts.mailNotYou : texts.mailIgnore,
  ];
  const [title, start] = [fill(subject, values), fill(lead, values)];
  const paragraphs = [start, `${label}:\n${address}`, ...notes];
  return {
    ...{ to, subject: title, text: `${paragraphs.join('\n\n')}\n`, userId: user?.userId },
    html: html`<!doctype html>
<html lang="${texts.language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${title}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif">
<p>${start}</p>
<p><a href="${address}" style="display:inline-block;padding:10px 18px;border-radius:6px;background:#1d4ed8;color:#ffffff;text-decoration:none">${label}</a></p>
${notes.map((note) => html`<p>${note}</p>`)}
<p style="font-size:13px;word-break:break-all">${address}</p>
</body>
</html>
`.markup,
  };
}

async function letterFor(
  wanted: WantedMail,
  { users, organizations }: Identity,
): Promise<Letter | undefined> {
  if (wanted.kind === 'reset') {
    const user = await users.findByLogin(wanted.login);
    // Users without a password sign in elsewhere. A mailbox must not replace that.
    return user?.email && user.emailVerified && user.passwordHash !== undefined
      ? { to: user.email, user, link: { kind: 'reset', userId: user.userId } }
      : undefined;
  }
  const { email } = wanted;
  if (wanted.kind === 'changed') {
    const user = await users.find(wanted.userId);
    return user && { to: email, user, change: changes[wanted.change] };
  }
  if (wanted.kind === 'verify') {
    const { userId } = wanted;
    const user = await users.find(userId);
    return user && { to: email, user, link: { kind: 'verify', userId, email } };
  }
  const { kind, orgId } = wanted;
  const user = kind === 'register' ? await users.findByEmail(email) : undefined;
  if (user !== undefined) {
    return { to: user.email ?? email, user };
  }
  const organization = await organizations.find(orgId);
  return (
    organization && { to: email, organization: organization.name, link: { kind, orgId, email } }
  );
}

/** Where the request came from, so that its recipient can judge it. */
function originOf(wanted: WantedMail, texts: Texts): string {
  const { from = '', at } = wanted;
  const agent = browserName(wanted, texts);
  const time = `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return fill(texts.mailOrigin, { address: from, agent, time });
}
