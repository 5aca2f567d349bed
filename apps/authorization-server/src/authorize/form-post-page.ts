import { SUBMIT_FORM_SCRIPT_PATH } from '../pages/assets.ts';
import { html } from '../pages/html.ts';
import { formTargetsOf, showPage, textsFor } from '../pages/page.ts';
import type { FormPostPage } from '../provider/patches/form-post-mode.ts';

/** OAuth 2.0 Form Post Response Mode. Without scripts, the user presses the button. */
export const formPostPage: FormPostPage = (context, redirectUri, parameters) => {
  const texts = textsFor(context, context.oidc.params?.ui_locales);
  const title = texts.returningTitle;
  const fields = Object.entries(parameters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">
`,
  );
  // The application may redirect the form to another of its hosts, and Chromium checks that
  // redirect as well.
  const formTargets = [...formTargetsOf(redirectUri), 'https:'];
  const content = html`<h1>${title}</h1>
<form method="post" action="${redirectUri}">
${fields}<button class="primary" type="submit">${texts.returningContinue}</button>
</form>`;
  showPage(context, { texts, title, content, script: SUBMIT_FORM_SCRIPT_PATH, formTargets });
  if (context.status < 500) {
    context.status = 'error' in parameters ? 400 : 200;
  }
};
