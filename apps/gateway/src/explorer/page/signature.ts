/** Signs with the signer of the client library, and shows what it signs. */
import {
  createVersion1Signer,
  createVersion2Signer,
  createWebDigests,
  type SignedReply,
  signedPart,
} from '@gatehouse/signing/core';
import type { Credential } from './credentials.ts';
import { element, find, show } from './elements.ts';
import type { ApiRequest } from './operations.ts';

export type Signature = Awaited<ReturnType<typeof signRequest>>;

/** The names of the nine lines of version 2. */
const lineNames = [
  ...['Version', 'Method', 'Path', 'Query', 'Content type', 'SHA-256 of the body', 'Client id'],
  ...['X-Timestamp', 'X-Nonce'],
];

/** Undefined for a credential that is not a secure key. Browsers have no MD5. */
export async function signRequest(request: ApiRequest, credential: Credential) {
  if (credential.kind !== 'secure-key') {
    return undefined;
  }
  const isVersion1 = credential.version === 1;
  const signer = isVersion1
    ? createVersion1Signer({ ...credential, algorithm: 'SHA-256' }, createWebDigests())
    : createVersion2Signer(credential, createWebDigests());
  const nonce = crypto.randomUUID();
  const signed = await signer.sign({ ...request, nonce, timestamp: Date.now() });
  const { headers } = signed;
  const isQuery = signedPart(request.method, request.contentType) === 'query';
  const signedText = String(signed.signedText);
  return {
    headers,
    lines: isVersion1
      ? [
          { name: isQuery ? 'Sorted parameters' : 'Body', value: signedText },
          { name: 'X-Timestamp', value: headers['X-Timestamp'] ?? '' },
          { name: 'Secure key', value: '(not shown)' },
        ]
      : signedText.split('\n').map((value, index) => ({ name: lineNames[index] ?? '', value })),
    /** How the signature is computed from the lines. */
    method: isVersion1
      ? 'SHA-256 of these parts, joined without a separator'
      : 'HMAC-SHA-256 of the nine lines, joined by line feeds, with the secure key',
    signature: headers[isVersion1 ? 'X-Sign' : 'X-Sign-V2'] ?? '',
    async verify(reply: SignedReply) {
      const isVerified = await signed.isVerified(reply);
      return { isVerified, explanation: explain(isVerified, isVersion1, reply.headers) };
    },
  };
}

function explain(
  isVerified: boolean,
  isVersion1: boolean,
  headers: SignedReply['headers'],
): string {
  if (!isVerified) {
    return headers.get(isVersion1 ? 'x-sign' : 'x-sign-v2') === null
      ? 'The reply has no signature. The gateway did not verify the request, or the reply does not come from the gateway.'
      : 'The signature does not match the reply, or the reply is too old or has an unexpected form. Do not trust it.';
  }
  return isVersion1
    ? 'A holder of the secure key signed this body. Version 1 does not prove that it belongs to this request.'
    : 'The gateway signed this reply to this request: status, nonce and body.';
}

/** Shows the signed text line by line, and the signature. */
export function showSignature(signature: Signature): void {
  find('signed', HTMLElement).hidden = signature === undefined;
  if (signature === undefined) {
    return;
  }
  const rows = signature.lines.map(({ name, value }, index) =>
    element(
      'tr',
      {},
      element('td', { class: 'number' }, String(index + 1)),
      element('th', { scope: 'row' }, name),
      element('td', { class: 'value mono' }, value === '' ? element('em', {}, 'empty') : value),
    ),
  );
  show('signed-lines', ...rows);
  show('signed-method', signature.method);
  show('signature', signature.signature);
}
