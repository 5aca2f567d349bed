import { contentSecurityPolicy } from '../http/page-headers.ts';
import { formTargets } from '../pages/form-targets.ts';
import { html } from '../pages/html.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import type { FormPostPage } from '../provider/patches/form-post-mode.ts';

export const SUBMIT_FORM_SCRIPT_PATH = '/assets/submit-form.js';

/** OAuth 2.0 Form Post Response Mode. Without scripts, the user presses the button. */
export const formPostPage: FormPostPage = (context, redirectUri, parameters) => {
  const { language, texts } = pageLanguage(context, context.oidc.params?.ui_locales);
  const title = texts.returningTitle;
  const fields = Object.entries(parameters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">
`,
  );
  // The application may redirect the form to another of its hosts, and Chromium checks that
  // redirect as well.
  const targets = [...formTargets(redirectUri), 'https:'];
  context.set(
    'Content-Security-Policy',
    contentSecurityPolicy({ formTargets: targets, script: true }),
  );
  context.type = 'html';
  const content = html`<h1>${title}</h1>
<form method="post" action="${redirectUri}">
${fields}<button class="primary" type="submit">${texts.returningContinue}</button>
</form>`;
  context.body = renderPage({ language, title, content, script: SUBMIT_FORM_SCRIPT_PATH });
  if (context.status < 500) {
    context.status = 'error' in parameters ? 400 : 200;
  }
};
