/**
 * Passkeys at sign-in: as the whole of it, offered in the field for the username or by a button, and
 * in place of the code of a second factor. What the browser returns is a form, so that everything
 * after it is as with a password.
 */
import type { User } from '@gatehouse/identity';
import { type CeremonyPage, methodsOf, passkeyForm } from '../account/passkey-ceremony.ts';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { type Html, html } from '../pages/html.ts';
import { formField } from '../pages/page.ts';
import { areThereFactors } from '../provider/authentication-context.ts';
import {
  attemptOf,
  type Exchange,
  type Interaction,
  type InteractionPage,
  type SignInDependencies,
} from './interaction.ts';

const pageOf = ({ uid }: Interaction): CeremonyPage => ({ path: `/sign-in/${uid}`, owner: uid });

/** The button of the sign-in page. Undefined while nobody can have a passkey. */
export async function passkeyButton(
  { interaction, texts, csrf }: InteractionPage,
  { identity, passkeyCeremonies }: SignInDependencies,
): Promise<Html | undefined> {
  if (!passkeyCeremonies.isPossible || !(await areThereFactors(identity))) {
    return undefined;
  }
  const page = pageOf(interaction);
  const options = passkeyCeremonies.requestOptions(page);
  const fields = html`<input type="hidden" name="remember" value="">`;
  const button = html`<button type="submit">${texts.passkeySignIn}</button>`;
  return passkeyForm(
    { action: `${page.path}/passkey`, csrf, options, kind: 'conditional' },
    { fields, button, problem: texts.passkeyFailed },
  );
}

/**
 * The form of the step for a second factor. Undefined if the user has no passkey.
 *
 * @param form.isOnly the page has no form for a code
 */
export async function passkeyFactor(
  { interaction, texts, csrf }: InteractionPage,
  { userId }: User,
  form: { readonly address: string; readonly isOnly: boolean },
  { identity, passkeyCeremonies }: SignInDependencies,
): Promise<Html | undefined> {
  const passkeys = await identity.passkeys.list(userId);
  if (passkeys.length === 0) {
    return undefined;
  }
  const options = passkeyCeremonies.requestOptions(pageOf(interaction), passkeys);
  const button = html`<button${form.isOnly ? html` class="primary"` : undefined} type="submit">${texts.passkeyUse}</button>`;
  return passkeyForm(
    { action: form.address, csrf, options, kind: 'get' },
    { button, problem: texts.passkeyFailed },
  );
}

/** The user of the posted passkey, and how it proves the user (RFC 8176). */
export async function checkPostedPasskey(
  exchange: Exchange,
  /** Of a second factor: the passkey of another user is wrong. */
  expected?: User,
): Promise<{ readonly user: User; readonly amr: string[] } | undefined> {
  const { request, interaction } = exchange;
  const { passkeyCeremonies, checkPasskey } = exchange.dependencies;
  const assertion = passkeyCeremonies.parseAssertion(formField(request, 'passkey'));
  const handle = assertion?.response.userHandle;
  const named = handle ? Buffer.from(handle, 'base64url').toString() : expected?.userId;
  const userId = expected === undefined || expected.userId === named ? named : undefined;
  const checked = await checkPasskey({
    userId,
    passkeyId: assertion?.id ?? '',
    verify: async (passkey) =>
      assertion && passkeyCeremonies.verifyAssertion(pageOf(interaction), assertion, passkey),
    ...(await attemptOf(exchange)),
  });
  if (checked === undefined) {
    noteFailure(request, 'passkeyRefused', formProblems.passkeyRefused);
  }
  return checked && { ...checked, amr: methodsOf(checked.passkey) };
}
