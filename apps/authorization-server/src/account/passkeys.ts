/**
 * The passkeys of a user on the account page: the section, and the page that adds, renames and
 * removes them. It needs a recent sign-in, with a second factor or passkey of users who have one.
 */

import { type Identity, MAXIMUM_PASSKEYS, type Passkey, type User } from '@gatehouse/identity';
import { fill, foreignName, type Html, html, plainName } from '@gatehouse/server';
import type { Router } from 'express';
import { recordChange } from '../mail/compose.ts';
import { PASSKEY_SCRIPT_PATH } from '../pages/assets.ts';
import { dayOf } from '../pages/languages.ts';
import { formField, linkButton } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { mayUseFactors } from '../provider/authentication-context.ts';
import type { AccountDependencies } from './account.ts';
import { type FailedEnrollment, nameIn, passkeyNotice } from './enrollment.ts';
import { ceremonyOf, recoverySection, submitEnrollment } from './factors.ts';
import { type PasskeyCeremonies, passkeyForm } from './passkey-ceremony.ts';
import { type AccountPage, type Handler, PASSKEYS_PATH, whileAllowed } from './session.ts';

/** Undefined while operators allow none. */
export async function passkeysSection(
  { user, texts }: AccountPage,
  { identity, passkeyCeremonies }: AccountDependencies,
): Promise<Html | undefined> {
  if (!(await areAllowed(user, identity, passkeyCeremonies))) {
    return undefined;
  }
  const { length: count } = await identity.passkeys.list(user.userId);
  const lead = count === 0 ? texts.passkeysLead : fill(texts.passkeysCount, { count: `${count}` });
  return html`<section aria-labelledby="passkeys">
<h2 id="passkeys">${texts.passkeysTitle}</h2>
<p class="quiet">${lead}</p>
${linkButton(PASSKEYS_PATH, count === 0 ? texts.passkeyAdd : texts.factorManage)}
</section>`;
}

const areAllowed = async (user: User, identity: Identity, { isPossible }: PasskeyCeremonies) =>
  isPossible && (await mayUseFactors(user, identity));

export function addPasskeyPages(router: Router, pages: AccountDependencies): void {
  const { identity, sessions, passkeyCeremonies } = pages;
  const allowed = whileAllowed(({ user }) => areAllowed(user, identity, passkeyCeremonies));
  const form = (handle: Handler) => sessions.form(allowed(handle), 'recentSignIn');

  router.get(
    '/passkeys',
    sessions.page(
      allowed((page) => show(page, pages)),
      'recentSignIn',
    ),
  );

  router.post(
    '/passkeys',
    form((page) => submitEnrollment(page, pages, (failed) => show(page, pages, failed))),
  );

  router.post(
    '/passkeys/change',
    form(async ({ request, response, user }) => {
      const { userId } = user;
      const id = formField(request, 'id');
      const name = nameIn(request);
      if (formField(request, 'remove') === '') {
        await (name && identity.passkeys.rename(userId, id, name));
      } else if ((await identity.passkeys.remove(userId, id)) === undefined) {
        await recordChange(request, user, 'passkey_removed', pages);
      }
      response.redirect(303, PASSKEYS_PATH);
    }),
  );
}

async function show(
  page: AccountPage,
  { identity, passkeyCeremonies }: AccountDependencies,
  failed?: FailedEnrollment,
): Promise<void> {
  const { user, texts, csrf } = page;
  const passkeys = await identity.passkeys.list(user.userId);
  const isFull = passkeys.length >= MAXIMUM_PASSKEYS;
  const addForm = passkeyForm(page, {
    action: PASSKEYS_PATH,
    options: passkeyCeremonies.creationOptions(ceremonyOf(page), user, passkeys),
    kind: 'create',
    label: texts.passkeyAdd,
    fields: html`<label for="name">${texts.passkeyName}</label>
<input id="name" name="name" type="text" autocomplete="off" required maxlength="60" value="${texts.passkey} ${`${passkeys.length + 1}`}">`,
  });
  const list = html`<ul class="applications">${passkeys.map((each) => item(each, csrf, texts))}</ul>
${await recoverySection(page, identity)}`;
  const content = html`<p class="lead">${texts.passkeysLead}</p>
${passkeyNotice(failed, texts)}
${passkeys.length === 0 ? undefined : list}
<noscript><p>${texts.passkeyNeedsScript}</p></noscript>
${isFull ? html`<p>${texts.passkeyProblems.full}</p>` : addForm}`;
  page.send(texts.passkeysTitle, content, { scripts: [PASSKEY_SCRIPT_PATH] });
}

function item(passkey: Passkey, csrf: Html, texts: Texts): Html {
  const { id, name, createdAt, lastUsedAt } = passkey;
  const used = lastUsedAt === undefined ? texts.passkeyUnused : dayOf(lastUsedAt, texts);
  const state = fill(texts.passkeyState, { since: dayOf(createdAt, texts), used });
  const label = (text: string) => fill(text, { name: plainName(name) });
  return html`<li class="application">
<h2>${foreignName(name)}</h2>
<p class="quiet">${state} ${passkey.isBackedUp ? texts.passkeyBackedUp : undefined}</p>
<form method="post" action="${PASSKEYS_PATH}/change">
${csrf}
<input type="hidden" name="id" value="${id}">
<input name="name" type="text" autocomplete="off" required maxlength="60" value="${name}" aria-label="${label(texts.passkeyNewName)}">
<button type="submit">${texts.passkeyRename}</button>
<button class="danger" type="submit" name="remove" value="yes" formnovalidate aria-label="${label(texts.passkeyRemoveLabel)}">${texts.passkeyRemove}</button>
</form>
</li>`;
}
