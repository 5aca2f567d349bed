/**
 * The steps of a sign-in for a second factor: a code of users who have one, and the enrollment of
 * users who need one. What counts as a second factor here is an authenticator app or a recovery
 * code; other kinds add their form to the first step, and to `isFactorAsked`.
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
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { type Html, html } from '../pages/html.ts';
import { formField, problemNotice } from '../pages/page.ts';
import { isFactorAsked, policyAt } from '../provider/authentication-context.ts';
import { type InteractionPage, openPage } from './interaction.ts';
import { type SignInStep, STEPS_SECONDS, type StepContext, stepAddress } from './step.ts';

type Position = Parameters<SignInStep['isNeeded']>[0];

const clientOf = ({ interaction }: Position) => String(interaction.params.client_id);

const hasOneFactor = ({ proof }: Position) => acrOfMethods(proof.amr) === ONE_FACTOR;

export const secondFactorStep: SignInStep = {
  name: 'second-factor',
  isNeeded: async (position) =>
    hasOneFactor(position) &&
    isFactorAsked(position.user, clientOf(position), position.dependencies.identity),
  show: (page) => showCodeForm(page, false),
  async submit(context) {
    const { request, response, interaction, user, proof, dependencies } = context;
    const kind = await dependencies.checkCode({
      user,
      code: formField(request, 'code'),
      method: interaction.deviceCode === undefined ? 'page' : 'device_code',
      clientId: clientOf(context),
      device: await dependencies.deviceCookies.read(request, response),
      request,
    });
    if (kind === undefined) {
      noteFailure(request, 'codeRefused', formProblems.codeRefused);
      showCodeForm(await openPage(request, response.status(422), dependencies), true);
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

function showCodeForm(page: InteractionPage, hasFailed: boolean): void {
  const { texts } = page;
  const problem = html`${texts.codeWrong}<br>${texts.signInFailedWait}`;
  const fields = html`${codeField(texts.code, { hasFailed, hint: texts.codeHint })}
<button class="primary" type="submit">${texts.continue}</button>`;
  const content = html`<p class="lead">${texts.codeLead}</p>
${problemNotice(hasFailed ? problem : undefined)}
${formOf(page, secondFactorStep, fields)}`;
  page.send(texts.codeTitle, content);
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
    const page = await openPage(request, response, dependencies);
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
  policyAt(position.user, clientOf(position), position.dependencies.identity);

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
