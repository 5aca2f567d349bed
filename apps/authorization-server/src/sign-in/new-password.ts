/** The step for users who must change their password: an operator set it, or asked for it. */
import { html } from '@gatehouse/server';
import {
  newPasswordForm,
  newPasswordProblem,
  type PasswordProblem,
  setPassword,
} from '../account/choose-password.ts';
import { passwordScripts } from '../pages/password-field.ts';
import { type InteractionPage, openPage } from './interaction.ts';
import { type SignInStep, type StepContext, stepAddress } from './step.ts';

export const newPasswordStep: SignInStep = {
  name: 'new-password',
  isNeeded: async ({ user, proof }) =>
    user.mustChangePassword === true && proof.amr.includes('pwd'),
  show,
  async submit(context) {
    const { request, user, proof, dependencies } = context;
    const problem = await newPasswordProblem(context, user);
    if (problem !== undefined) {
      show(await openPage(context), context, problem);
      return undefined;
    }
    const changed = await setPassword(request, user, dependencies);
    const at = Math.max(proof.at, changed.notBefore + 1);
    return { user: changed, proof: { ...proof, at } };
  },
};

function show(
  { texts, csrf, send }: InteractionPage,
  { interaction, user: { username } }: StepContext,
  problem?: PasswordProblem,
): void {
  const action = stepAddress(interaction, newPasswordStep);
  const content = html`<p class="lead">${texts.mustChangeLead}</p>
${newPasswordForm(texts, action, csrf, { username, problem })}`;
  send(texts.mustChangeTitle, content, { scripts: passwordScripts });
}
