/**
 * The passkeys of a user on the account page: the section, and the page that adds, renames and
 * removes them. It needs a recent sign-in, with a second factor or passkey of users who have one.
 */
import {
  type Identity,
  MAXIMUM_PASSKEYS,
  type Passkey,
  passkeyName,
  type User,
} from '@gatehouse/identity';
import type { Request, Router } from 'express';
import { PASSKEY_SCRIPT_PATH } from '../pages/assets.ts';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { fill, foreignName, type Html, html, plainName } from '../pages/html.ts';
import { dayOf } from '../pages/languages.ts';
import { formField, linkButton, problemNotice } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { mayUseFactors } from '../provider/authentication-context.ts';
import type { AccountDependencies } from './account.ts';
import { methodsOf, type PasskeyCeremonies, passkeyForm } from './passkey-ceremony.ts';
import {
  type AccountPage,
  type Handler,
  PASSKEYS_PATH,
  strengthen,
  whileAllowed,
} from './session.ts';

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
    form(async (page) => {
      const { request, response, user, session } = page;
      const posted = formField(request, 'passkey');
      const verified = await passkeyCeremonies.verifyRegistration(ceremonyOf(page), posted);
      const name = nameIn(request);
      const problem =
        verified && name
          ? await identity.passkeys.add(user.userId, { ...verified, name })
          : 'wrong';
      if (verified && problem === undefined) {
        page.record('passkey_added');
        await strengthen(session, methodsOf(verified), identity);
        page.finish('passkeyAdded');
      } else {
        noteFailure(request, 'passkeyRefused', formProblems.passkeyRefused);
        response.status(422);
        await show(page, pages, problem ?? 'wrong');
      }
    }),
  );

  router.post(
    '/passkeys/change',
    form(async ({ request, response, record, user: { userId } }) => {
      const id = formField(request, 'id');
      const name = nameIn(request);
      if (formField(request, 'remove') === '') {
        await (name && identity.passkeys.rename(userId, id, name));
      } else if ((await identity.passkeys.remove(userId, id)) === undefined) {
        record('passkey_removed');
      }
      response.redirect(303, PASSKEYS_PATH);
    }),
  );
}

/** Browsers post no other ones. */
const nameIn = (request: Request) => passkeyName.safeParse(formField(request, 'name').trim()).data;

const ceremonyOf = ({ session }: AccountPage) => ({ path: PASSKEYS_PATH, owner: session.uid });

async function show(
  page: AccountPage,
  { identity, passkeyCeremonies }: AccountDependencies,
  problem?: keyof Texts['passkeyProblems'],
): Promise<void> {
  const { user, texts, csrf } = page;
  const passkeys = await identity.passkeys.list(user.userId);
  const isFull = passkeys.length >= MAXIMUM_PASSKEYS;
  const options = passkeyCeremonies.creationOptions(ceremonyOf(page), user, passkeys);
  const fields = html`<label for="name">${texts.passkeyName}</label>
<input id="name" name="name" type="text" autocomplete="off" required maxlength="60" value="${texts.passkey} ${`${passkeys.length + 1}`}">`;
  const addForm = passkeyForm(
    { action: PASSKEYS_PATH, csrf, options, kind: 'create' },
    {
      fields,
      button: html`<button class="primary" type="submit">${texts.passkeyAdd}</button>`,
      problem: texts.passkeyProblems.wrong,
    },
  );
  const content = html`<p class="lead">${texts.passkeysLead}</p>
${problemNotice(problem && texts.passkeyProblems[problem])}
${passkeys.length === 0 ? undefined : html`<ul class="applications">${passkeys.map((each) => item(each, csrf, texts))}</ul>`}
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
