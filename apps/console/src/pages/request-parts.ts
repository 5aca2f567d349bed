/** What the screens about requests share: outcomes, causes, clients and durations. */
import { failureReasons, isFailureReason } from '@gatehouse/errors';
import type { ExplainedRequest } from '@gatehouse/operators';
import { type Html, html } from '@gatehouse/server';
import { pathTo } from '../view/addresses.ts';
import { number, type Place, status } from '../view/parts.ts';

type Shown = Pick<ExplainedRequest, 'status' | 'code' | 'reason' | 'aborted'>;

export function outcome({ status: code, reason, aborted }: Shown, { texts }: Place): Html {
  const { requests } = texts;
  if (aborted && code === undefined) {
    return status('quiet', requests.aborted);
  }
  const shown = String(code ?? '–');
  if (reason === undefined) {
    return status('good', shown);
  }
  return status((code ?? 0) >= 500 ? 'bad' : 'warning', shown);
}

/** The texts of reasons are in English, as in replies and in the command line. */
export const inEnglish = (text: string): Html => html`<span lang="en">${text}</span>`;

/** The name of a reason, with its cause below. */
export function reasonCell(reason: string, address?: string): Html {
  const cause = isFailureReason(reason) ? failureReasons[reason].cause : undefined;
  const name = html`<code translate="no">${reason}</code>`;
  return html`${address === undefined ? name : html`<a href="${address}">${name}</a>`}${
    cause && html`<br><span class="aside">${inEnglish(cause)}</span>`
  }`;
}

export function clientLink(clientId: string): Html {
  return html`<a href="${pathTo('/clients/:id', { id: clientId })}"><code translate="no">${clientId}</code></a>`;
}

/** A duration in milliseconds. */
export const duration = (milliseconds: number, { texts }: Pick<Place, 'texts'>): string =>
  `${number(milliseconds, texts, milliseconds < 10 ? 1 : 0)} ms`;
