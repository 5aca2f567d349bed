import { type Html, html } from './html.ts';
import { fill, type PlainText, type Texts } from './texts.ts';

/** A link, by its text. */
export interface NextStep {
  readonly address: string;
  readonly label: PlainText;
}

export interface ErrorView {
  readonly title: string;
  readonly message: string;
  /** The standard's code and description, for the application's developer. */
  readonly detail: string | undefined;
  /** By default, the page links to the start page. */
  readonly next?: NextStep | undefined;
  /** The request id, as in the log. */
  readonly reference: string;
}

export function errorView(view: ErrorView, texts: Texts): Html {
  const { address, label } = view.next ?? { address: '/', label: 'startPage' };
  return html`<h1>${view.title}</h1>
<p>${view.message}</p>
${view.detail === undefined ? undefined : html`<p class="detail" translate="no">${view.detail}</p>`}
<p class="actions"><a class="button" href="${address}">${texts[label]}</a></p>
<p class="small">${fill(texts.errorReference, { reference: view.reference })}</p>`;
}
