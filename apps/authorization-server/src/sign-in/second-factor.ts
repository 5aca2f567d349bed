/**
 * The steps of a sign-in for a second factor: a code or a passkey of users who have one, and the
 * enrollment of users who need one.
 */

import { acrLevel, acrOfMethods, ONE_FACTOR, requestedAcr, TWO_FACTORS } from '@gatehouse/identity';
import { type Html, html } from '@gatehouse/server';
import {
  appForm,
  codeField,
  enroll,
  type FailedEnrollment,
  passkeyNotice,
  recoveryCodeList,
} from '../account/enrollment.ts';
import { passkeyForm } from '../account/passkey-ceremony.ts';
import { recordChange } from '../mail/compose.ts';
import { PASSKEY_SCRIPT_PATH } from '../pages/assets.ts';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { formField, problemNotice } from '../pages/page.ts';
import { isFactorAsked, policyAt } from '../provider/authentication-context.ts';
import { checkCode } from '../throttle/code-attempts.ts';
import { attemptOf, type InteractionPage, openPage } from './interaction.ts';
import { ceremonyOf, checkPostedPasskey } from './passkey.ts';
import { type SignInStep, STEPS_SECONDS, type StepContext, stepAddress } from './step.ts';

const policyOf = (context: StepContext) =>
  policyAt(context.user, context.interaction.params, context.dependencies.identity);

const hasOneFactor = ({ proof }: StepContext) => acrOfMethods(proof.amr) === ONE_FACTOR;

const requestedLevel = ({ interaction }: StepContext) => requestedAcr(interaction.params).level;

export const secondFactorStep: SignInStep = {
  name: 'second-factor',
  isNeeded: async (context) =>
    hasOneFactor(context) &&
    isFactorAsked(
      context.user,
      context.interaction.params,
      context.dependencies.identity,
      requestedLevel(context) > acrLevel(ONE_FACTOR),
    ),
  show: (page, context) => showFactors(page, context),
  async submit(context) {
    const { request, response, user, proof } = context;
    const isPasskey = formField(request, 'passkey') !== '';
    const amr = isPasskey
      ? (await checkPostedPasskey(context, user))?.amr
      : await checkPostedCode(context);
    if (amr === undefined) {
      response.status(422);
      await showFactors(await openPage(context), context, isPasskey ? 'passkey' : 'code');
      return undefined;
    }
    return { user, proof: { ...proof, amr: [...proof.amr, ...amr, 'mfa'] } };
  },
};

/** What the posted code proves. RFC 8176 has no name for a recovery code. */
async function checkPostedCode(context: StepContext): Promise<readonly string[] | undefined> {
  const { request, user, dependencies } = context;
  const code = formField(request, 'code');
  const attempt = { user, code, ...(await attemptOf(context)) };
  const kind = await checkCode(attempt, dependencies.identity);
  if (kind === undefined) {
    noteFailure(request, 'codeRefused', formProblems.codeRefused);
    return undefined;
  }
  if (kind === 'totp') {
    return ['otp'];
  }
  await recordChange(request, user, 'recovery_code_used', dependencies);
  return [];
}

const formOf = (page: InteractionPage, step: SignInStep, content?: Html) =>
  html`<form method="post" action="${stepAddress(page.interaction, step)}">
${page.csrf}
${content}
<button class="primary" type="submit">${page.texts.continue}</button>
</form>`;

/** A field for a code of the app or a recovery code, and a button for a passkey of the user. */
async function showFactors(
  page: InteractionPage,
  { user, dependencies }: StepContext,
  failed?: 'code' | 'passkey',
): Promise<void> {
  const { texts, interaction } = page;
  const { identity, passkeyCeremonies } = dependencies;
  const { app, passkeys } = await identity.factors.describe(user.userId);
  const codeForm = formOf(
    page,
    secondFactorStep,
    codeField(texts.code, { hasFailed: failed === 'code', hint: texts.codeHint }),
  );
  const passkey =
    passkeys.length === 0
      ? undefined
      : passkeyForm(page, {
          action: stepAddress(interaction, secondFactorStep),
          options: passkeyCeremonies.requestOptions(ceremonyOf(interaction), passkeys),
          kind: 'get',
          isSecondary: app !== undefined,
          label: texts.passkeyUse,
        });
  const problems = {
    code: html`${texts.codeWrong}<br>${texts.signInFailedWait}`,
    passkey: html`${texts.passkeyFailed}`,
  };
  const noScript = html`<noscript><p>${texts.passkeyNeedsScript}</p></noscript>`;
  const content = html`<p class="lead">${app ? texts.codeLead : texts.passkeyLead}</p>
${problemNotice(failed && problems[failed])}
${app ? codeForm : noScript}
${passkey}
${app ? undefined : codeForm}`;
  const scripts = passkey ? [PASSKEY_SCRIPT_PATH] : [];
  page.send(app ? texts.codeTitle : texts.passkeyUse, content, { scripts });
}

/** Of users without a factor, after the step for those who have one. */
export const enrollStep: SignInStep = {
  name: 'enroll',
  async isNeeded(context) {
    const isRequested =
      requestedLevel(context) === acrLevel(TWO_FACTORS) && context.proof.hasDeclined !== true;
    const policy = hasOneFactor(context) ? await policyOf(context) : 'off';
    return policy === 'required' || (policy === 'optional' && isRequested);
  },
  show: (page, context) => showEnrollment(page, context),
  async submit(context) {
    const { request, response, interaction, user, proof, dependencies } = context;
    if (formField(request, 'decline') !== '' && (await policyOf(context)) !== 'required') {
      return { user, proof: { ...proof, hasDeclined: true } };
    }
    const place = { user, ceremony: ceremonyOf(interaction), isFirst: true };
    const result = await enroll(request, place, dependencies);
    const page = await openPage(context);
    if ('problem' in result) {
      response.status(422);
      await showEnrollment(page, context, result);
      return undefined;
    }
    // This step is then no longer needed, so its form continues.
    const proven = { ...proof, amr: [...proof.amr, ...result.amr, 'mfa'] };
    dependencies.browserState.proofs.write(interaction.uid, JSON.stringify(proven), STEPS_SECONDS);
    const { texts } = page;
    const content = html`${recoveryCodeList(result.codes ?? [], texts)}
${formOf(page, enrollStep)}`;
    page.send(texts.recoveryTitle, content);
    return undefined;
  },
};

async function showEnrollment(
  page: InteractionPage,
  context: StepContext,
  failed?: FailedEnrollment,
): Promise<void> {
  const { texts, csrf, interaction } = page;
  const { request, user, dependencies } = context;
  const { identity, passkeyCeremonies } = dependencies;
  const action = stepAddress(interaction, enrollStep);
  const isRequired = (await policyOf(context)) === 'required';
  const decline = html`<button type="submit" name="decline" value="yes" formnovalidate>${texts.enrollDecline}</button>`;
  const more = isRequired ? undefined : decline;
  const app = appForm(request, { user, texts, csrf }, identity, { action, failed, more });
  const passkey = passkeyCeremonies.isPossible
    ? passkeyForm(page, {
        action,
        options: passkeyCeremonies.creationOptions(ceremonyOf(interaction), user),
        kind: 'create',
        isSecondary: true,
        label: texts.passkeyAdd,
        fields: html`<p>${texts.passkeysLead}</p>
<input type="hidden" name="name" value="${texts.passkey}">`,
      })
    : undefined;
  const content = html`${passkeyNotice(failed, texts)}
${app}
${passkey}`;
  page.send(texts.factorTitle, content, { scripts: [PASSKEY_SCRIPT_PATH] });
}
