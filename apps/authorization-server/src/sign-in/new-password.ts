/** The step for users who must change their password: an operator set it, or asked for it. */
import type { Response } from 'express';
import {
  newPasswordFields,
  newPasswordProblem,
  type PasswordProblem,
  setPassword,
} from '../account/choose-password.ts';
import { html } from '../pages/html.ts';
import { problemNotice } from '../pages/page.ts';
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
    const problem = await newPasswordProblem(request, user);
    if (problem !== undefined) {
      show(await openPage(context), { ...context, problem });
      return undefined;
    }
    const changed = await setPassword(request, user, dependencies);
    const at = Math.max(proof.at, changed.notBefore + 1);
    return { user: changed, proof: { ...proof, at } };
  },
};

function show(
  page: InteractionPage,
  context: StepContext & { readonly problem?: PasswordProblem; readonly response: Response },
): void {
  const { interaction, user, problem, response } = context;
  const { texts } = page;
  if (problem !== undefined) {
    response.status(422);
  }
  const content = html`<p class="lead">${texts.mustChangeLead}</p>
${problemNotice(problem && texts.passwordProblems[problem])}
<form method="post" action="${stepAddress(interaction, newPasswordStep)}">
${page.csrf}
${newPasswordFields(texts, { username: user.username, problem })}
<button class="primary" type="submit">${texts.setPassword}</button>
</form>`;
  page.send(texts.mustChangeTitle, content, { scripts: passwordScripts });
}
