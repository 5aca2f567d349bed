/**
 * The profile of a user: its facts on the account page, and the pages that change it. The address is
 * worth more than the rest, because it recovers the account, so its page needs a recent sign-in.
 * Username, organization, roles and attributes are the operator's.
 */

import { changedEmail, type Identity, type User, userProfileSchema } from '@gatehouse/identity';
import { fill, foreignName, type Html, html } from '@gatehouse/server';
import type { Router } from 'express';
import { z } from 'zod';
import { mailOrigin, reportChange } from '../mail/compose.ts';
import { rejectForm } from '../pages/error-page.ts';
import { languages, listOf } from '../pages/languages.ts';
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

export async function profileSection(
  { user, texts }: AccountPage,
  identity: Identity,
): Promise<Html> {
  const { selfService } = await identity.settings.read();
  const organization = await identity.organizations.find(user.orgId);
  const { name, givenName, familyName, email, emailVerified, roles, locale } = user;
  const spoken = languages.find(({ language }) => language === locale);
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
${fact(texts.languageMenu, spoken?.languageName)}
${fact(texts.accountRoles, roles.length === 0 ? undefined : untranslated(listOf(roles, texts, 'conjunction')))}
<div><dt>${texts.accountId}</dt><dd class="mono" translate="no">${user.userId}</dd></div>
</dl>
<p class="actions">${selfService.profile ? html`<a class="button" href="${PROFILE_PATH}">${texts.profileEdit}</a>` : undefined} ${selfService.email ? html`<a class="button" href="${EMAIL_PATH}">${texts.emailEdit}</a>` : undefined}</p>
</section>`;
}

/** What each page changes. An empty field removes the value. */
const { name, givenName, familyName, email } = userProfileSchema.shape;
const forms = {
  profile: z.object({
    ...{ name: name.unwrap(), givenName, familyName },
    locale: z
      .enum(languages.map(({ language }) => language))
      .optional()
      .catch(undefined),
  }),
  email: z.object({ email }),
};

type Kind = keyof typeof forms;
type Field = 'name' | 'givenName' | 'familyName' | 'email' | 'locale';
type Typed = Readonly<Partial<Record<Field, string | undefined>>>;

interface Failure {
  readonly typed: Typed;
  /** What is wrong. Undefined after too many changes. */
  readonly field?: Field;
}

export function addProfilePages(router: Router, pages: AccountDependencies): void {
  const { identity, sessions } = pages;
  const allowed = (kind: Kind, handle: Handler) =>
    whileAllowed(async () => (await identity.settings.read()).selfService[kind])(handle);
  const show = (kind: Kind) => allowed(kind, (page) => sendForm(kind, page));
  const submit = (kind: Kind) =>
    allowed(kind, async (page) => {
      const outcome = await changeProfile(kind, page, pages);
      if (typeof outcome === 'string') {
        page.finish(outcome);
        return;
      }
      rejectForm(page.response, 'profileRefused');
      page.response.status(outcome.field === undefined ? 429 : 422);
      sendForm(kind, page, outcome);
    });

  router.get('/profile', sessions.page(show('profile')));
  router.post('/profile', sessions.form(submit('profile')));
  router.get('/email', sessions.page(show('email'), 'recentSignIn'));
  router.post('/email', sessions.form(submit('email'), 'recentSignIn'));
}

async function changeProfile(
  kind: Kind,
  { request, user: { userId, orgId, ...user } }: AccountPage,
  { identity, mails }: AccountDependencies,
): Promise<Kind | 'verify' | Failure> {
  const fields = Object.keys(forms[kind].shape) as Field[];
  const typed: Typed = Object.fromEntries(
    fields.map((field) => [field, formField(request, field).trim() || undefined]),
  );
  const { data, error } = forms[kind].safeParse(typed);
  if (data === undefined) {
    return { typed, field: error.issues[0]?.path[0] as Field };
  }
  const { requests, windowSeconds } = profileLimit;
  const attempts = await identity.store.increment(`attempts:profile:${userId}`, windowSeconds);
  if (attempts.count > requests) {
    return { typed };
  }
  const isVerified = user.emailVerified && typed.email === user.email;
  if (mails !== undefined && typed.email !== undefined && !isVerified) {
    // It becomes the address of the user when the link in a mail is opened.
    const wanted = { kind: 'verify', userId, email: typed.email } as const;
    await mails.add(orgId, { ...wanted, ...mailOrigin(request) });
    return 'verify';
  }
  const change = (current: User): User => {
    const changed = { ...current, ...data };
    return kind === 'email' ? { ...changed, ...emailOf(current, typed.email) } : changed;
  };
  const changed = await changeUser(request, userId, change, identity);
  if (changed.email !== user.email) {
    await reportChange(request, { ...user, userId, orgId }, 'changed', { identity, mails });
  }
  return kind;
}

const emailOf = (current: User, email: string | undefined) =>
  email === undefined ? { email, emailVerified: false } : changedEmail(current, { email });

/** After a problem, the fields keep what the user typed. */
function sendForm(kind: Kind, { user, texts, csrf, send }: AccountPage, failure?: Failure): void {
  const values: Typed = failure?.typed ?? user;
  const labels = {
    name: texts.accountName,
    givenName: texts.givenName,
    familyName: texts.familyName,
    email: texts.accountEmail,
    locale: texts.languageMenu,
  };
  const field = (id: Field, attributes: Html) => {
    const isWrong = failure?.field === id;
    const invalid = html` aria-invalid="true" aria-describedby="problem" autofocus`;
    return html`<label for="${id}">${labels[id]}</label>
<input id="${id}" name="${id}" value="${values[id] ?? ''}" ${attributes}${isWrong ? invalid : undefined}>`;
  };
  const problem = failure?.field
    ? fill(texts.profileProblem, { field: labels[failure.field] })
    : texts.profileTooOften;
  const isEmail = kind === 'email';
  const fields = isEmail
    ? field('email', html`type="email" autocomplete="email" maxlength="254"`)
    : html`${field('name', html`type="text" autocomplete="name" maxlength="200" required`)}
${field('givenName', html`type="text" autocomplete="given-name" maxlength="200"`)}
${field('familyName', html`type="text" autocomplete="family-name" maxlength="200"`)}
${languageField(texts, values.locale)}`;
  const content = html`${isEmail ? html`<p class="lead">${texts.emailLead}</p>` : undefined}
${problemNotice(failure && problem)}
<form method="post" action="/account/${kind}">
${csrf}
${fields}
<button class="primary" type="submit">${texts.save}</button>
</form>`;
  send(isEmail ? texts.emailEdit : texts.profileEdit, content);
}

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
