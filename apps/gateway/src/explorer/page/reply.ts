/** Sends the request, and shows the reply: whether it is signed, and why it is a rejection. */
import { isRecord, parseEnvelope, parseJson, type SignedReply } from '@gatehouse/signing/core';
import { element, find, show } from './elements.ts';
import type { ApiRequest } from './operations.ts';
import type { Signature } from './signature.ts';

/** Sends nothing but what the page shows: no cookie, and no second request after a redirect. */
export async function sendRequest(
  { method, path, query, contentType, body }: ApiRequest,
  headers: Readonly<Record<string, string>> | undefined,
) {
  // A proxy may remove the first part of the address, so the path is relative to this page.
  const response = await fetch(`.${path}${query === '' ? '' : `?${query}`}`, {
    method,
    headers: { ...(contentType !== '' && { 'Content-Type': contentType }), ...headers },
    ...(body !== '' && { body }),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    // A lost connection must not block the form for longer than any route takes.
    signal: AbortSignal.timeout(300_000),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { status, statusText } = response;
  return { status, statusText, headers: response.headers, bytes };
}

export async function showReply(
  reply: Awaited<ReturnType<typeof sendRequest>>,
  signature: Signature,
): Promise<void> {
  const { status, statusText, headers, bytes } = reply;
  const text = new TextDecoder().decode(bytes);
  const { look, title, explanation } = await verify(reply, signature);
  const line = `${status} ${statusText}`.trim();
  show('status', element('span', { class: status < 400 ? 'success' : 'problem' }, line));
  show('outcome', `${line}. ${title}`, element('a', { href: '#reply' }, 'Show the reply'));
  show('verification', element('p', { class: look }, element('strong', {}, title), explanation));
  show('rejection', ...(status < 400 ? [] : [rejectionOf(status, text)]));
  const shown = [...headers].flatMap(([name, value]) => [
    element('dt', {}, name),
    element('dd', {}, value),
  ]);
  show('reply-headers', ...shown);
  const json = parseJson(text);
  show('reply-body', json === undefined ? text : JSON.stringify(json, null, 2));
  find('reply', HTMLElement).hidden = false;
  find('outcome', HTMLElement).scrollIntoView({ block: 'nearest' });
}

async function verify(reply: SignedReply, signature: Signature) {
  if (signature === undefined) {
    const explanation =
      'Replies to requests with a token have no signature. Only https protects them.';
    return { look: 'hint', title: '', explanation };
  }
  const isVersion1 = signature.version === 1;
  if (await signature.isVerified(reply)) {
    const explanation = isVersion1
      ? 'A holder of the secure key signed this body. Version 1 does not prove that it belongs to this request.'
      : 'The gateway signed this reply to this request: status, nonce and body.';
    return { look: 'success', title: 'Signature verified. ', explanation };
  }
  const explanation =
    reply.headers.get(isVersion1 ? 'x-sign' : 'x-sign-v2') === null
      ? 'The reply has no signature. The gateway did not verify the request, for example because the client id or the secure key is wrong, or another program replied.'
      : 'The signature does not match the reply, or the reply is too old or has an unexpected form. Do not trust it.';
  return { look: 'problem', title: 'Not verified. ', explanation };
}

/** Why the gateway rejected the request, in its own words. */
function rejectionOf(status: number, text: string): HTMLElement {
  const { code, message, result } = parseEnvelope(status, text) ?? {};
  const problems = Array.isArray(result) ? result.filter(isRecord) : [];
  const sentences = [
    ...problems.map((problem) => `${problem.property}: ${problem.message}`),
    ...(isRecord(result) && typeof result.hint === 'string' ? [result.hint] : []),
    'Quote the x-request-id when you ask the operator.',
  ];
  const title =
    code === undefined
      ? `The reply with status ${status} is not an error of the gateway. Check which program answers at this address.`
      : `${code}: ${message}`;
  const list = sentences.map((sentence) => element('li', {}, sentence));
  return element('div', { class: 'warning' }, element('h3', {}, title), element('ul', {}, ...list));
}
