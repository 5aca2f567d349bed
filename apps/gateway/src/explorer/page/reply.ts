/** Sends the request, and shows the reply: whether it is signed, and why it is a rejection. */
import { isRecord, parseEnvelope, parseJson } from '@gatehouse/signing/core';
import { element, find, show, withQuotes } from './elements.ts';
import type { ApiRequest } from './operations.ts';
import type { Signature } from './signature.ts';

export type ReceivedReply = Awaited<ReturnType<typeof sendRequest>>;

/** Sends nothing but what the page shows: no cookie, and no second request after a redirect. */
export async function sendRequest(
  { method, path, query, contentType, body }: ApiRequest,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) {
  // A proxy may remove the first part of the address, so the path is relative to this page.
  const response = await fetch(`.${path}${query === '' ? '' : `?${query}`}`, {
    signal,
    method,
    headers: { ...(contentType !== '' && { 'Content-Type': contentType }), ...headers },
    ...(body !== '' && { body }),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { status, statusText } = response;
  const text = new TextDecoder().decode(bytes);
  return { status, statusText, headers: response.headers, bytes, text };
}

const shownHeaders = [
  ...['content-type', 'x-request-id', 'x-timestamp', 'x-sign-v2', 'x-sign', 'x-total-count'],
  ...['retry-after', 'www-authenticate'],
];

/**
 * @param advice how to fix each error code
 * @param signal aborted when the page shows another request
 */
export async function showReply(
  reply: ReceivedReply,
  signature: Signature,
  advice: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const { status, statusText, headers, text } = reply;
  const verification = await signature?.verify(reply);
  signal.throwIfAborted();
  const title = verification?.isVerified ? 'Signature verified. ' : 'Not verified. ';
  const kind = (isGood: boolean) => (isGood ? 'success' : 'problem');
  const badge = () =>
    element('span', { class: `badge ${kind(status < 400)}` }, `${status} ${statusText}`.trim());
  show('status', badge());
  const link = element('a', { href: '#reply' }, 'Show the reply');
  show('outcome', badge(), verification === undefined ? ' ' : ` ${title}`, link);
  show(
    'verification',
    verification === undefined
      ? element(
          'p',
          { class: 'hint' },
          'Replies to requests with a token have no signature. Only https protects them.',
        )
      : element(
          'p',
          { class: kind(verification.isVerified) },
          element('strong', {}, title),
          verification.explanation,
        ),
  );
  show('rejection', status < 400 ? undefined : rejectionOf(reply, signature, advice));
  const shown = shownHeaders.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [element('dt', {}, name), element('dd', {}, value)];
  });
  show('reply-headers', ...shown);
  const json = parseJson(text);
  show('reply-body', json === undefined ? text : JSON.stringify(json, null, 2));
  find('reply', HTMLElement).hidden = false;
  find('outcome', HTMLElement).scrollIntoView({ block: 'nearest' });
}

export function hideReply(): void {
  find('reply', HTMLElement).hidden = true;
  show('outcome');
}

/** Why the gateway rejected the request. */
function rejectionOf(
  { status, text, headers }: ReceivedReply,
  signature: Signature,
  advice: Readonly<Record<string, string>>,
): HTMLElement {
  const { code = '', message = '', result } = parseEnvelope(status, text) ?? {};
  const details = isRecord(result) ? result : {};
  const hint = typeof details.hint === 'string' ? details.hint : advice[code];
  const sentences = [
    ...(code === '' ? ['Check which program answers at this address.'] : []),
    ...problemsOf(result),
    ...differentLines(details.expectedLines, signature),
    ...clockDifference(details.serverTime),
    ...(hint === undefined ? [] : [hint]),
    `Ask the operator about request ${headers.get('x-request-id') ?? 'without an id'}.`,
  ];
  const title =
    code === ''
      ? `The reply with status ${status} is not an error of the gateway.`
      : `${code}: ${message}`;
  const list = sentences.map((sentence) => element('li', {}, withQuotes(sentence)));
  return element('div', { class: 'warning' }, element('h3', {}, title), element('ul', {}, ...list));
}

function problemsOf(result: unknown): readonly string[] {
  return Array.isArray(result)
    ? result.filter(isRecord).map(({ property, message }) => `${property}: ${message}`)
    : [];
}

/** The gateway built its lines from the request, and the page signed the same request. */
function differentLines(expected: unknown, signature: Signature): readonly string[] {
  if (!Array.isArray(expected) || signature === undefined) {
    return [];
  }
  const different = signature.lines.filter(({ value }, index) => value !== expected[index]);
  return different.length === 0
    ? [
        'The gateway expects exactly the lines that this page signed. The client id or the secure key is wrong.',
      ]
    : different.map(({ name }) => `The gateway received another value in the line ${name}.`);
}

function clockDifference(serverTime: unknown): readonly string[] {
  if (typeof serverTime !== 'number') {
    return [];
  }
  const seconds = Math.round((Date.now() - serverTime) / 1000);
  const direction = seconds < 0 ? 'behind' : 'ahead of';
  return [`The clock of this device is ${Math.abs(seconds)} s ${direction} the gateway.`];
}
