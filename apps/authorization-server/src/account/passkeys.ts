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
import type { Request, Response, Router } from 'express';
import { PASSKEY_SCRIPT_PATH } from '../pages/assets.ts';
import { formProblems, noteFailure, sendErrorPage } from '../pages/error-page.ts';
import { fill, foreignName, type Html, html, plainName } from '../pages/html.ts';
import { dayOf } from '../pages/languages.ts';
import {
  csrfField,
  formField,
  linkButton,
  parseForm,
  problemNotice,
  sendPage,
  textsFor,
} from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { mayUsePasskeys } from '../provider/authentication-context.ts';
import { requestOrigin } from '../requests/caller.ts';
import type { AccountDependencies } from './account.ts';
import { methodsOf, type PasskeyCeremonies, passkeyForm } from './passkey-ceremony.ts';
import { type Handler, PASSKEYS_PATH, type SignedIn, strengthen } from './session.ts';

/** Undefined while operators allow none. */
export async function passkeysSection(
  user: User,
  texts: Texts,
  { identity, passkeyCeremonies }: Pick<AccountDependencies, 'identity' | 'passkeyCeremonies'>,
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
  isPossible && (await mayUsePasskeys(user, identity));

export function addPasskeyPages(router: Router, pages: AccountDependencies): void {
  const { identity, sessions, passkeyCeremonies } = pages;
  const whileAllowed =
    (handle: Handler): Handler =>
    async (request, response, signedIn) => {
      if (await areAllowed(signedIn.user, identity, passkeyCeremonies)) {
        await handle(request, response, signedIn);
      } else {
        sendErrorPage(request, response, 404, 'notFound');
      }
    };
  const form = (handle: Handler) => sessions.form(whileAllowed(handle), 'recentSignIn');

  router.get(
    '/passkeys',
    sessions.page(
      whileAllowed((request, response, signedIn) => show(request, response, signedIn, pages)),
      'recentSignIn',
    ),
  );

  router.post(
    '/passkeys',
    parseForm,
    form(async (request, response, signedIn) => {
      const posted = formField(request, 'passkey');
      const verified = await passkeyCeremonies.verifyRegistration(pageOf(signedIn), posted);
      const name = nameIn(request);
      const problem =
        verified && name
          ? await identity.passkeys.add(signedIn.user.userId, { ...verified, name })
          : 'wrong';
      if (verified && problem === undefined) {
        record(request, signedIn, 'passkey_added');
        await strengthen(signedIn.session, methodsOf(verified), identity);
        response.redirect(303, '/account?done=passkeyAdded');
      } else {
        noteFailure(request, 'passkeyRefused', formProblems.passkeyRefused);
        await show(request, response.status(422), signedIn, pages, problem ?? 'wrong');
      }
    }),
  );

  router.post(
    '/passkeys/change',
    parseForm,
    form(async (request, response, signedIn) => {
      const { userId } = signedIn.user;
      const id = formField(request, 'id');
      const name = nameIn(request);
      if (formField(request, 'remove') === '') {
        await (name && identity.passkeys.rename(userId, id, name));
      } else if ((await identity.passkeys.remove(userId, id)) === undefined) {
        record(request, signedIn, 'passkey_removed');
      }
      response.redirect(303, PASSKEYS_PATH);
    }),
  );

  function record(
    request: Request,
    { user: { userId } }: SignedIn,
    change: 'passkey_added' | 'passkey_removed',
  ) {
    identity.audit.record({ event: 'user_changed', userId, change }, requestOrigin(request));
  }
}

/** Browsers post no other ones. */
const nameIn = (request: Request) => passkeyName.safeParse(formField(request, 'name').trim()).data;

const pageOf = ({ session }: SignedIn) => ({ path: PASSKEYS_PATH, owner: session.uid });

async function show(
  request: Request,
  response: Response,
  signedIn: SignedIn,
  { identity, passkeyCeremonies }: AccountDependencies,
  problem?: keyof Texts['passkeyProblems'],
): Promise<void> {
  const texts = textsFor(request);
  const { user, csrfToken } = signedIn;
  const passkeys = await identity.passkeys.list(user.userId);
  const csrf = csrfField(csrfToken);
  const isFull = passkeys.length >= MAXIMUM_PASSKEYS;
  const options = passkeyCeremonies.creationOptions(pageOf(signedIn), user, passkeys);
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
${isFull ? html`<p>${texts.passkeyProblems.full}</p>` : addForm}
${linkButton('/account', texts.backToAccount)}`;
  const scripts = [PASSKEY_SCRIPT_PATH];
  sendPage(response, { texts, title: texts.passkeysTitle, content, scripts });
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
