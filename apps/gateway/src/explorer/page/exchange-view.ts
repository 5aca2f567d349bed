import type { ReceivedReply } from './api-request.ts';
import { element, find, show } from './elements.ts';
import type { Rejection } from './explain-rejection.ts';
import { parseJson } from './reply-envelope.ts';
import type { SignedRequest, Verification } from './signing/signed-request.ts';

const shownHeaders = [
  'content-type',
  'x-request-id',
  'x-timestamp',
  'x-sign-v2',
  'x-sign',
  'x-total-count',
  'retry-after',
  'www-authenticate',
];

/** Shows the signed text line by line, and the signature. */
export function showSigned(signed: SignedRequest | undefined): void {
  find('signed', HTMLElement).hidden = signed === undefined;
  if (signed === undefined) {
    return;
  }
  show(
    'signed-lines',
    ...signed.lines.map(({ name, value }, index) =>
      element(
        'tr',
        {},
        element('td', { class: 'number' }, String(index + 1)),
        element('th', { scope: 'row' }, name),
        element('td', { class: 'value mono' }, value === '' ? element('em', {}, 'empty') : value),
      ),
    ),
  );
  show('signed-method', signed.method);
  show('signature', signed.signature);
}

export function showReply(
  { status, statusText, headers, text }: ReceivedReply,
  verification: Verification | undefined,
  rejection: Rejection | undefined,
): void {
  const kind = status < 400 ? 'success' : 'problem';
  const badge = () => element('span', { class: `badge ${kind}` }, `${status} ${statusText}`.trim());
  show('status', badge());
  show(
    'outcome',
    badge(),
    verification === undefined ? ' ' : ` ${titleOf(verification)}`,
    element('a', { href: '#reply' }, 'Show the reply'),
  );
  show('verification', verificationOf(verification));
  show('rejection', ...(rejection === undefined ? [] : [explanationOf(rejection)]));
  show(
    'reply-headers',
    ...shownHeaders.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [element('dt', {}, name), element('dd', {}, value)];
    }),
  );
  const json = parseJson(text);
  show('reply-body', json === undefined ? text : JSON.stringify(json, null, 2));
  find('reply', HTMLElement).hidden = false;
  find('outcome', HTMLElement).scrollIntoView({ block: 'nearest' });
}

export function hideReply(): void {
  find('reply', HTMLElement).hidden = true;
  show('outcome');
}

function verificationOf(verification: Verification | undefined): HTMLElement {
  if (verification === undefined) {
    const text = 'Replies to requests with a token have no signature. Only https protects them.';
    return element('p', { class: 'hint' }, text);
  }
  return element(
    'p',
    { class: verification.isVerified ? 'success' : 'problem' },
    element('strong', {}, titleOf(verification)),
    verification.explanation,
  );
}

function titleOf({ isVerified }: Verification): string {
  return isVerified ? 'Signature verified. ' : 'Not verified. ';
}

function explanationOf({ title, advice }: Rejection): HTMLElement {
  return element(
    'div',
    { class: 'warning' },
    element('h3', {}, title),
    element('ul', {}, ...advice.map((sentence) => element('li', {}, sentence))),
  );
}
