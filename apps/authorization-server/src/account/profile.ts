/**
 * The profile of a user: its facts on the account page, and the pages that change it. The address is
 * worth more than the rest, because it recovers the account, so its page needs a recent sign-in.
 * Username, organization, roles and attributes are the operator's.
 */
import {
  changedEmail,
  type Identity,
  type Settings,
  type User,
  userProfileSchema,
} from '@gatehouse/identity';
import type { Request, Router } from 'express';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { fill, foreignName, type Html, html } from '../pages/html.ts';
import { languages } from '../pages/languages.ts';
import { formField, problemNotice } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { changeUser } from '../requests/caller.ts';
import { profileLimit } from '../throttle/limits.ts';
import type { AccountDependencies } from './account.ts';
import {
  type AccountPage,
  EMAIL_PATH,
  type Handler,
  PROFILE_PATH,
  whileAllowed,
} from './session.ts';

type SelfService = Settings['selfService'];

/** The two pages. */
type Kind = 'profile' | 'email';

export async function profileSection(
  { user, texts }: AccountPage,
  { identity, selfService }: { readonly identity: Identity; readonly selfService: SelfService },
): Promise<Html> {
  const organization = await identity.organizations.find(user.orgId);
  const { name, givenName, familyName, email, emailVerified, roles, locale } = user;
  const mark = emailVerified ? undefined : html` (${texts.accountEmailUnverified})`;
  const fact = (label: string, value: string | Html | undefined) =>
    value === undefined || value === ''
      ? undefined
      : html`<div><dt>${label}</dt><dd>${typeof value === 'string' ? foreignName(value) : value}</dd></div>`;
  const untranslated = (value: string) => html`<span translate="no">${foreignName(value)}</span>`;
  return html`<section aria-labelledby="profile">
<h2 id="profile">${texts.profileTitle}</h2>
<dl class="facts">
${fact(texts.accountName, name)}${fact(texts.givenName, givenName)}${fact(texts.familyName, familyName)}
${fact(texts.username, untranslated(user.username))}
${fact(texts.organization, organization?.name ?? user.orgId)}
${fact(texts.accountEmail, email && html`${untranslated(email)}${mark}`)}
${fact(texts.languageMenu, languageOf(locale)?.languageName)}
${fact(texts.accountRoles, roles.length === 0 ? undefined : untranslated(roles.join(', ')))}
<div><dt>${texts.accountId}</dt><dd class="mono" translate="no">${user.userId}</dd></div>
</dl>
<p class="actions">${selfService.profile ? html`<a class="button" href="${PROFILE_PATH}">${texts.profileEdit}</a>` : undefined} ${selfService.email ? html`<a class="button" href="${EMAIL_PATH}">${texts.emailEdit}</a>` : undefined}</p>
</section>`;
}

const nameMembers = ['name', 'givenName', 'familyName'] as const;

type Member = (typeof nameMembers)[number] | 'email';
/** What the user typed. An empty text removes the value. */
type Typed = Readonly<Partial<Record<Member | 'locale', string | undefined>>>;

interface Failure {
  readonly typed: Typed;
  /** What is wrong. Undefined after too many changes. */
  readonly member: Member | undefined;
}

export function addProfilePages(router: Router, pages: AccountDependencies): void {
  const { identity, sessions } = pages;
  const allowed = (kind: Kind, handle: Handler) =>
    whileAllowed(async () => (await identity.settings.read()).selfService[kind])(handle);
  const submit = (kind: Kind, read: (request: Request) => Typed) =>
    allowed(kind, async (page) => {
      const { request, response, user } = page;
      const typed = read(request);
      const address = addressToVerify(user, typed, pages);
      const failure = await changeProfile(request, user, typed, pages);
      if (failure === undefined) {
        page.finish(address === undefined ? kind : 'verify');
      } else {
        noteFailure(request, 'profileRefused', formProblems.profileRefused);
        response.status(failure.member === undefined ? 429 : 422);
        sendForm(kind, page, failure);
      }
    });
  const show = (kind: Kind) => allowed(kind, (page) => sendForm(kind, page));

  router.get('/profile', sessions.page(show('profile')));
  router.post('/profile', sessions.form(submit('profile', readProfile)));
  router.get('/email', sessions.page(show('email'), 'recentSignIn'));
  const readEmail = (request: Request) => ({ email: formField(request, 'email').trim() });
  router.post('/email', sessions.form(submit('email', readEmail), 'recentSignIn'));
}

function readProfile(request: Request): Typed {
  const names = nameMembers.map((member) => [member, formField(request, member).trim()]);
  const locale = languageOf(formField(request, 'locale'))?.language ?? '';
  return { ...Object.fromEntries(names), locale };
}

async function changeProfile(
  request: Request,
  user: User,
  typed: Typed,
  pages: AccountDependencies,
): Promise<Failure | undefined> {
  const { store } = pages.identity;
  const { userId } = user;
  const member = wrongMember(typed);
  if (member !== undefined) {
    return { typed, member };
  }
  const { requests, windowSeconds } = profileLimit;
  if ((await store.increment(`attempts:profile:${userId}`, windowSeconds)).count > requests) {
    return { typed, member };
  }
  const address = addressToVerify(user, typed, pages);
  if (address !== undefined) {
    await pages.mails?.requestVerification(user, address, request);
    return undefined;
  }
  await changeUser(request, userId, (current) => withTyped(current, typed), pages.identity);
  return undefined;
}

/** With a mail server, an address becomes that of the user when the link in a mail is confirmed. */
function addressToVerify(
  { email, emailVerified }: User,
  typed: Typed,
  { mails }: AccountDependencies,
): string | undefined {
  const isVerified = typed.email === email && emailVerified;
  return mails === undefined || isVerified ? undefined : typed.email || undefined;
}

/** Only the name is required. */
function wrongMember(typed: Typed): Member | undefined {
  const isWrong = (member: Member, value = member === 'name' ? ' ' : '') =>
    value !== '' && !userProfileSchema.shape[member].safeParse(value).success;
  return ([...nameMembers, 'email'] as const).find(
    (member) => typed[member] !== undefined && isWrong(member, typed[member] || undefined),
  );
}

function withTyped(current: User, { email, ...typed }: Typed): User {
  const entries = Object.entries(typed).map(([member, value]) => [member, value || undefined]);
  const changed = { ...current, ...Object.fromEntries(entries) };
  if (email === undefined) {
    return changed;
  }
  const removed = { email: undefined, emailVerified: false };
  return { ...changed, ...(email === '' ? removed : changedEmail(current, { email })) };
}

/** After a problem, the fields keep what the user typed. */
function sendForm(kind: Kind, { user, texts, csrf, send }: AccountPage, failure?: Failure): void {
  const values: Typed = failure?.typed ?? user;
  const labels = {
    name: texts.accountName,
    givenName: texts.givenName,
    familyName: texts.familyName,
    email: texts.accountEmail,
  };
  const field = (member: Member, attributes: Html) => {
    const invalid =
      failure?.member === member
        ? html` aria-invalid="true" aria-describedby="problem" autofocus`
        : undefined;
    return html`<label for="${member}">${labels[member]}</label>
<input id="${member}" name="${member}" value="${values[member] ?? ''}" ${attributes}${invalid}>`;
  };
  const named = failure?.member && fill(texts.profileProblem, { field: labels[failure.member] });
  const fields =
    kind === 'email'
      ? field('email', html`type="email" autocomplete="email" maxlength="254"`)
      : html`${field('name', html`type="text" autocomplete="name" maxlength="200" required`)}
${field('givenName', html`type="text" autocomplete="given-name" maxlength="200"`)}
${field('familyName', html`type="text" autocomplete="family-name" maxlength="200"`)}
${languageField(texts, values.locale)}`;
  const content = html`${kind === 'email' ? html`<p class="lead">${texts.emailLead}</p>` : undefined}
${problemNotice(failure && (named ?? texts.profileTooOften))}
<form method="post" action="/account/${kind}">
${csrf}
${fields}
<button class="primary" type="submit">${texts.save}</button>
</form>`;
  send(kind === 'email' ? texts.emailEdit : texts.profileEdit, content);
}

const languageOf = (tag: string | undefined) => languages.find(({ language }) => language === tag);

function languageField(texts: Texts, chosen: string | undefined): Html {
  const option = ({ language, languageName }: Texts) =>
    html`<option value="${language}" lang="${language}"${language === chosen ? html` selected` : undefined}>${languageName}</option>`;
  return html`<label for="locale">${texts.languageMenu}</label>
<select id="locale" name="locale" aria-describedby="locale-hint">
<option value="">${texts.languageOfBrowser}</option>
${languages.map(option)}
</select>
<p class="hint" id="locale-hint">${texts.profileLanguageHint}</p>`;
}
