/**
 * The steps of a sign-in for a second factor: a code of users who have one, and the enrollment of
 * users who need one. A passkey replaces the code.
 */
import {
  acrLevel,
  acrOfMethods,
  ONE_FACTOR,
  requestedAcr,
  requestedLevel,
  TWO_FACTORS,
} from '@gatehouse/identity';
import {
  codeField,
  enrollApp,
  enrollmentForm,
  type FailedEnrollment,
  recoveryCodeList,
} from '../account/authenticator-app.ts';
import { PASSKEY_SCRIPT_PATH } from '../pages/assets.ts';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { type Html, html } from '../pages/html.ts';
import { formField, problemNotice } from '../pages/page.ts';
import { isFactorAsked, policyAt } from '../provider/authentication-context.ts';
import { attemptOf, type InteractionPage, openPage } from './interaction.ts';
import { checkPostedPasskey, passkeyFactor } from './passkey.ts';
import { type SignInStep, STEPS_SECONDS, type StepContext, stepAddress } from './step.ts';

type Position = Parameters<SignInStep['isNeeded']>[0];

const hasOneFactor = ({ proof }: Position) => acrOfMethods(proof.amr) === ONE_FACTOR;

export const secondFactorStep: SignInStep = {
  name: 'second-factor',
  isNeeded: async (position) =>
    hasOneFactor(position) &&
    isFactorAsked(
      position.user,
      position.interaction.params,
      position.dependencies.identity,
      requestedLevel(requestedAcr(position.interaction.params)) > acrLevel(ONE_FACTOR),
    ),
  show: (page, context) => showFactors(page, context),
  async submit(context) {
    const { request, response, user, proof, dependencies } = context;
    if (formField(request, 'passkey') !== '') {
      const checked = await checkPostedPasskey(context, user);
      if (checked === undefined) {
        response.status(422);
        await showFactors(await openPage(context), context, 'passkey');
        return undefined;
      }
      return { user, proof: { ...proof, amr: [...proof.amr, ...checked.amr, 'mfa'] } };
    }
    const code = formField(request, 'code');
    const kind = await dependencies.checkCode({ user, code, ...(await attemptOf(context)) });
    if (kind === undefined) {
      noteFailure(request, 'codeRefused', formProblems.codeRefused);
      response.status(422);
      await showFactors(await openPage(context), context, 'code');
      return undefined;
    }
    // RFC 8176 has no name for a recovery code.
    const amr = [...proof.amr, ...(kind === 'totp' ? ['otp'] : []), 'mfa'];
    return { user, proof: { ...proof, amr } };
  },
};

const formOf = ({ csrf, interaction }: InteractionPage, step: SignInStep, content: Html) =>
  html`<form method="post" action="${stepAddress(interaction, step)}">
${csrf}
${content}
</form>`;

/** The forms for what the user has: a code, a passkey, or both. */
async function showFactors(
  page: InteractionPage,
  { user, dependencies }: StepContext,
  failed?: 'code' | 'passkey',
): Promise<void> {
  const { texts } = page;
  const address = stepAddress(page.interaction, secondFactorStep);
  const hasCodes = (await dependencies.identity.factors.describe(user.userId)) !== undefined;
  const form = { address, isOnly: !hasCodes };
  const passkey = await passkeyFactor(page, user, form, dependencies);
  const problems = {
    code: html`${texts.codeWrong}<br>${texts.signInFailedWait}`,
    passkey: html`${texts.passkeyFailed}`,
  };
  const fields = html`${codeField(texts.code, { hasFailed: failed === 'code', hint: texts.codeHint })}
<button class="primary" type="submit">${texts.continue}</button>`;
  const noScript = html`<noscript><p>${texts.passkeyNeedsScript}</p></noscript>`;
  const content = html`<p class="lead">${hasCodes ? texts.codeLead : texts.passkeyLead}</p>
${problemNotice(failed && problems[failed])}
${hasCodes ? formOf(page, secondFactorStep, fields) : noScript}
${passkey}`;
  const scripts = passkey ? [PASSKEY_SCRIPT_PATH] : [];
  page.send(hasCodes ? texts.codeTitle : texts.passkeyUse, content, { scripts });
}

/** Of users without a factor, after the step for those who have one. */
export const enrollStep: SignInStep = {
  name: 'enroll',
  async isNeeded(position) {
    const { proof, interaction } = position;
    if (!hasOneFactor(position)) {
      return proof.hasNewCodes === true;
    }
    const level = requestedLevel(requestedAcr(interaction.params));
    const isRequested = level === acrLevel(TWO_FACTORS) && proof.hasDeclined !== true;
    const policy = await policyOf(position);
    return policy === 'required' || (policy === 'optional' && isRequested);
  },
  show: showEnrollment,
  async submit(context) {
    const { request, response, interaction, user, dependencies } = context;
    const { hasNewCodes, ...proof } = context.proof;
    if (hasNewCodes === true) {
      return { user, proof };
    }
    if (formField(request, 'decline') !== '' && (await policyOf(context)) !== 'required') {
      return { user, proof: { ...proof, hasDeclined: true } };
    }
    const options = { mayReplace: false };
    const { codes, pending } = await enrollApp(request, user, dependencies.identity, options);
    const page = await openPage(context);
    if (codes === undefined) {
      response.status(422);
      await showEnrollment(page, context, { pending });
      return undefined;
    }
    const proven = { ...proof, amr: [...proof.amr, 'otp', 'mfa'], hasNewCodes: true };
    dependencies.browserState.proofs.write(interaction.uid, JSON.stringify(proven), STEPS_SECONDS);
    showCodes(page, codes);
    return undefined;
  },
};

const policyOf = (position: Position) =>
  policyAt(position.user, position.interaction.params, position.dependencies.identity);

/** @param codes undefined: they were shown before */
function showCodes(page: InteractionPage, codes?: readonly string[]): void {
  const { texts } = page;
  const button = html`<button class="primary" type="submit">${texts.continue}</button>`;
  const content = html`${codes ? recoveryCodeList(codes, texts) : html`<p>${texts.factorOn}</p>`}
${formOf(page, enrollStep, button)}`;
  page.send(codes ? texts.recoveryTitle : texts.factorTitle, content);
}

async function showEnrollment(
  page: InteractionPage,
  context: StepContext,
  failed?: FailedEnrollment,
): Promise<void> {
  const { texts } = page;
  const { request, user, proof, dependencies } = context;
  if (proof.hasNewCodes === true) {
    showCodes(page);
    return;
  }
  const decline = html`<button type="submit" name="decline" value="yes" formnovalidate>${texts.enrollDecline}</button>`;
  const content = enrollmentForm(request, { user, texts }, dependencies.identity, {
    action: stepAddress(page.interaction, enrollStep),
    csrf: page.csrf,
    failed,
    more: (await policyOf(context)) === 'required' ? undefined : decline,
  });
  page.send(texts.enrollTitle, content);
}
