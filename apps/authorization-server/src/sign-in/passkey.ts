/**
 * Passkeys at sign-in: as the whole of it, offered in the field for the username or by a button, and
 * in place of the code of a second factor. What the browser returns is a form, so that everything
 * after it is as with a password.
 *
 * Nobody can guess a passkey, so nothing locks the passkeys of a user: a lock would only help an
 * attacker to keep the user out. Wrong ones count for their address, together with passwords.
 */

import type { SignInReasonName } from '@gatehouse/errors';
import type { Passkey, User } from '@gatehouse/identity';
import { type Html, html } from '@gatehouse/server';
import {
  type CeremonyPage,
  methodsOf,
  type PasskeyAssertion,
  passkeyForm,
} from '../account/passkey-ceremony.ts';
import { noteFailure } from '../pages/error-page.ts';
import { formField } from '../pages/page.ts';
import { areThereFactors } from '../provider/authentication-context.ts';
import { recordEvent } from '../requests/caller.ts';
import { countOrigin } from '../throttle/sign-in-throttle.ts';
import {
  type Exchange,
  type Interaction,
  type InteractionPage,
  type SignInDependencies,
  signInPlace,
} from './interaction.ts';
import { rejectionOfPasskey } from './policy.ts';

/** Of all pages of the interaction. */
export const ceremonyOf = ({ uid }: Interaction): CeremonyPage => ({
  path: `/sign-in/${uid}`,
  owner: uid,
});

/** The button of the sign-in page. Undefined while nobody can have a passkey. */
export async function passkeyButton(
  page: InteractionPage,
  { identity, passkeyCeremonies }: SignInDependencies,
): Promise<Html | undefined> {
  if (!passkeyCeremonies.isPossible || !(await areThereFactors(identity))) {
    return undefined;
  }
  const ceremony = ceremonyOf(page.interaction);
  return passkeyForm(page, {
    action: `${ceremony.path}/passkey`,
    options: passkeyCeremonies.requestOptions(ceremony),
    kind: 'conditional',
    isSecondary: true,
    label: page.texts.passkeySignIn,
    fields: html`<input type="hidden" name="remember" value="">`,
  });
}

/**
 * The user of the posted passkey, and how it proves the user (RFC 8176). Every failure has the same
 * result.
 *
 * @param expected of a second factor: the passkey of another user is wrong
 * @throws TryLaterError when the address presents too many wrong ones
 */
export async function checkPostedPasskey(
  exchange: Exchange,
  expected?: User,
): Promise<{ readonly user: User; readonly amr: string[] } | undefined> {
  const { request, interaction } = exchange;
  const { identity, passkeyCeremonies } = exchange.dependencies;
  const assertion = passkeyCeremonies.parseAssertion(formField(request, 'passkey'));
  const handle = assertion?.response.userHandle;
  const named = handle ? Buffer.from(handle, 'base64url').toString() : expected?.userId;
  const user = await identity.users.find(named ?? '');
  const isExpected = expected === undefined || expected.userId === user?.userId;
  const own = user && isExpected ? await identity.passkeys.list(user.userId) : [];
  const passkey = own.find(({ id }) => id === assertion?.id);
  const { method, clientId } = signInPlace(interaction);
  const fail = (reason: SignInReasonName) => {
    const event = { event: 'sign_in_failed', method, reason, clientId } as const;
    recordEvent(request, { ...event, userId: user?.userId }, identity);
  };
  let problem: SignInReasonName | undefined = 'passkey_unknown';
  if (user !== undefined && passkey !== undefined && assertion !== undefined) {
    problem = await problemOf(exchange, { user, passkey, assertion });
    if (problem === undefined) {
      return { user, amr: methodsOf(passkey) };
    }
    if (problem === 'passkey_copied') {
      recordEvent(request, { event: problem, userId: user.userId, clientId }, identity);
    }
  }
  await countOrigin({ request }, identity.store, fail);
  fail(problem);
  noteFailure(request, 'passkeyRefused', problem);
  return undefined;
}

async function problemOf(
  { interaction, dependencies }: Exchange,
  posted: {
    readonly user: User;
    readonly passkey: Passkey;
    readonly assertion: PasskeyAssertion;
  },
): Promise<SignInReasonName | undefined> {
  const { user, passkey, assertion } = posted;
  const { identity, passkeyCeremonies } = dependencies;
  const ceremony = ceremonyOf(interaction);
  const use = await passkeyCeremonies.verifyAssertion(ceremony, assertion, passkey);
  return use === undefined
    ? 'passkey_wrong'
    : ((await rejectionOfPasskey(user, signInPlace(interaction), identity)) ??
        identity.passkeys.recordUse(user.userId, passkey.id, use));
}
