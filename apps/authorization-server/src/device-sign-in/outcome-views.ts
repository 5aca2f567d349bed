import { foreignName } from '../pages/foreign-name.ts';
import { type Html, html, sentence } from '../pages/html.ts';
import type { Texts } from '../pages/texts.ts';
import { providerRoutes } from '../requests/routes.ts';

export function connectedView(clientName: string, texts: Texts): Html {
  const client = html`<strong>${foreignName(clientName)}</strong>`;
  return html`<h1>${texts.deviceDoneTitle}</h1>
<p class="success" role="status">${sentence(texts.deviceDone, { client })}</p>
<p class="actions"><a class="button" href="/account">${texts.openAccount}</a></p>`;
}

export function stoppedView(texts: Texts): Html {
  return html`<h1>${texts.deviceStoppedTitle}</h1>
<p>${texts.deviceStopped}</p>
${anotherCode(texts)}`;
}

/** What went wrong where the form itself would not help. */
export function deviceProblemView(message: string, texts: Texts): Html {
  return html`<h1>${texts.deviceTitle}</h1>
<p class="problem" role="alert">${message}</p>
${anotherCode(texts)}`;
}

/** As above, where signing in helps. */
export function signInFirstView(message: string, texts: Texts): Html {
  return html`<h1>${texts.deviceTitle}</h1>
<p class="problem" role="alert">${message}</p>
<p class="actions"><a class="button" href="/account">${texts.signIn}</a></p>`;
}

function anotherCode(texts: Texts): Html {
  return html`<p class="actions"><a class="button" href="${providerRoutes.code_verification}">${texts.deviceAnother}</a></p>`;
}
