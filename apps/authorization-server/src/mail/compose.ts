/**
 * Turns what someone asked for into a mail, when it is sent: looks the user up, and issues the link.
 * Every mail is plain text and HTML with the same sentences.
 * Only an address that its user verified gets a link for an existing account.
 */
import { type Identity, isDomainAllowed, type User, type WantedMail } from '@gatehouse/identity';
import { fill, html, plainName } from '../pages/html.ts';
import { browserName, textsOf } from '../pages/languages.ts';
import type { TextName, Texts } from '../pages/texts-en.ts';
import { CREATE_ACCOUNT_PATH, RESET_PASSWORD_PATH, VERIFY_EMAIL_PATH } from '../requests/routes.ts';
import type { Mail } from './mailer.ts';

/** What one kind of mail has in addition to its recipient. */
interface Letter {
  readonly kind: WantedMail['kind'] | 'exists';
  readonly to: string;
  readonly user?: User;
  readonly organization?: string;
  readonly path: string;
  readonly token?: string;
}

/** How long the link of a mail works (packages/identity/src/tokens/action-links.ts). */
const validities = {
  reset: 'mailValidHour',
  verify: 'mailValidDay',
  register: 'mailValidDay',
  invite: 'mailValidWeek',
  exists: undefined,
} as const satisfies Readonly<Record<Letter['kind'], TextName | undefined>>;

export type ComposedMail = Mail & { readonly userId: string | undefined };

/** @returns undefined if nobody gets a mail */
export async function composeMail(
  wanted: WantedMail,
  { identity, issuer, isFirst }: ComposeDependencies,
): Promise<ComposedMail | undefined> {
  const mayMail = async (email: string, userId?: string) =>
    !isFirst || (await identity.mails.mayMail(wanted.kind, email, userId));
  const letter = await addressed(wanted, { ...identity, mayMail });
  if (letter === undefined) {
    return undefined;
  }
  const { kind, to, user, organization = '', path, token } = letter;
  const texts = textsOf(user?.locale ?? wanted.locale);
  const { subject, lead, label } = texts.mails[kind];
  const validity = validities[kind];
  const values = {
    host: new URL(issuer).host,
    organization: plainName(organization),
    username: plainName(user?.username ?? ''),
  };
  const address = `${issuer}${path}${token === undefined ? '' : `?token=${token}`}`;
  const notes = [
    ...(validity === undefined ? [] : [texts[validity]]),
    ...(wanted.from === undefined ? [] : [originOf(wanted, texts)]),
    texts.mailIgnore,
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

interface ComposeDependencies {
  readonly identity: Identity;
  readonly issuer: string;
  /** The first attempt counts for the limits. */
  readonly isFirst: boolean;
}

type LetterDependencies = Identity & {
  readonly mayMail: (email: string, userId?: string) => Promise<boolean>;
};

/** The recipient of a mail and its link. */
async function addressed(
  wanted: WantedMail,
  dependencies: LetterDependencies,
): Promise<Letter | undefined> {
  const { users, organizations, actionLinks, mayMail } = dependencies;
  switch (wanted.kind) {
    case 'reset': {
      const user = await users.findByLogin(wanted.login);
      // Users without a password sign in elsewhere. A mailbox must not replace that.
      const mayReset = user?.enabled === true && user.passwordHash !== undefined;
      if (!mayReset || !user.emailVerified || !user.email || !(await mayMail(user.email))) {
        return undefined;
      }
      const token = await actionLinks.issueReset(user);
      return { kind: 'reset', to: user.email, user, path: RESET_PASSWORD_PATH, token };
    }
    case 'verify': {
      const { userId, email } = wanted;
      const user = await users.find(userId);
      if (user?.enabled !== true || !(await mayMail(email, userId))) {
        return undefined;
      }
      const token = await actionLinks.issueVerification(user, email);
      return { kind: 'verify', to: email, user, path: VERIFY_EMAIL_PATH, token };
    }
    case 'register':
      return registrationLetter(wanted, dependencies);
    case 'invite': {
      const { orgId, email, token } = wanted;
      const organization = await organizations.find(orgId);
      const letter = { kind: 'invite', to: email, path: CREATE_ACCOUNT_PATH, token } as const;
      return organization && { ...letter, organization: organization.name };
    }
  }
}

/** The user of a known address is told that there is an account. */
async function registrationLetter(
  { orgId, email }: Extract<WantedMail, { kind: 'register' }>,
  { settings, users, organizations, actionLinks, mayMail }: LetterDependencies,
): Promise<Letter | undefined> {
  const open = (await settings.read()).registrationOf(orgId);
  const organization = await organizations.find(orgId);
  const isAllowed = open !== undefined && isDomainAllowed(open, email);
  if (!isAllowed || organization === undefined || !(await mayMail(email))) {
    return undefined;
  }
  const user = await users.findByEmail(email);
  if (user !== undefined) {
    return { kind: 'exists', to: user.email ?? email, user, path: '/account' };
  }
  const token = await actionLinks.issueAccount({ kind: 'register', orgId, email });
  const letter = { kind: 'register', to: email, path: CREATE_ACCOUNT_PATH, token } as const;
  return { ...letter, organization: organization.name };
}

/** Where the request came from, so that its recipient can judge it. */
function originOf(wanted: WantedMail, texts: Texts): string {
  const { from = '', at } = wanted;
  const agent = browserName(wanted, texts);
  const time = `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return fill(texts.mailOrigin, { address: from, agent, time });
}
