import { type Html, html } from './html.ts';
import { fill, type Texts } from './texts.ts';

export interface ErrorView {
  readonly message: string;
  /** The standard's code and description, for the application's developer. */
  readonly detail: string | undefined;
  /**
   * The address at which an expired sign-in starts again. Otherwise the page links to the start
   * page.
   */
  readonly startAgain?: string | undefined;
  /** The request id, as in the log. */
  readonly reference: string;
}

export function errorView(view: ErrorView, texts: Texts): Html {
  return html`<h1>${texts.errorTitle}</h1>
<p>${view.message}</p>
${view.detail === undefined ? undefined : html`<p class="detail" translate="no">${view.detail}</p>`}
<p class="actions">${
    view.startAgain === undefined
      ? html`<a class="button" href="/">${texts.startPage}</a>`
      : html`<a class="button" href="${view.startAgain}">${texts.startAgain}</a>`
  }</p>
<p class="small">${fill(texts.errorReference, { reference: view.reference })}</p>`;
}
