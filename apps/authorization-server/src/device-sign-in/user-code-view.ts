import { type Html, html } from '../pages/html.ts';
import type { Texts } from '../pages/texts.ts';
import { providerRoutes } from '../requests/routes.ts';

export interface UserCodeView {
  readonly userCode: string;
  readonly problem: string | undefined;
  readonly token: string;
}

export function userCodeView(view: UserCodeView, texts: Texts): Html {
  const { userCode, problem } = view;
  const lead =
    userCode === '' || problem !== undefined ? texts.deviceLead : texts.deviceLeadPrefilled;
  const described = problem === undefined ? 'hint' : 'problem hint';
  return html`<h1>${texts.deviceTitle}</h1>
<p class="lead">${lead}</p>
${problem === undefined ? undefined : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
<form method="post" action="${providerRoutes.code_verification}">
<input type="hidden" name="xsrf" value="${view.token}">
<label for="user_code">${texts.userCode}</label>
<input class="code" id="user_code" name="user_code" type="text" autocomplete="off" autocapitalize="characters" autocorrect="off" spellcheck="false" translate="no" required maxlength="32" value="${userCode}" aria-describedby="${described}"${problem === undefined ? undefined : html` aria-invalid="true"`} autofocus>
<p class="hint" id="hint">${texts.userCodeHint}</p>
<button class="primary" type="submit">${texts.continue}</button>
</form>`;
}
