/** Signs with the signer of the client library, and shows what it signs. */
import {
  createVersion1Signer,
  createVersion2Signer,
  createWebDigests,
} from '@gatehouse/signing/core';
import type { Credential } from './credentials.ts';
import { element, find, show } from './elements.ts';
import type { ApiRequest } from './operations.ts';

export type Signature = Awaited<ReturnType<typeof signRequest>>;

/** Undefined for a credential that is not a secure key. Browsers have no MD5. */
export async function signRequest(request: ApiRequest, credential: Credential) {
  if (credential.kind !== 'secure-key') {
    return undefined;
  }
  const { version } = credential;
  const signer =
    version === 1
      ? createVersion1Signer({ ...credential, algorithm: 'SHA-256' }, createWebDigests())
      : createVersion2Signer(credential, createWebDigests());
  const signing = signer.sign({ ...request, nonce: crypto.randomUUID(), timestamp: Date.now() });
  return { version, ...(await signing) };
}

const lineNames = {
  1: ['Sorted parameters or body', 'X-Timestamp', 'Secure key'],
  2: [
    ...['Version', 'Method', 'Path', 'Query', 'Content type', 'SHA-256 of the body', 'Client id'],
    ...['X-Timestamp', 'X-Nonce'],
  ],
};

/** Shows the signed text line by line, and the signature. */
export function showSignature(signature: Signature): void {
  find('signed', HTMLElement).hidden = signature === undefined;
  if (signature === undefined) {
    return;
  }
  const { version, headers } = signature;
  const text = String(signature.signedText);
  const lines =
    version === 1 ? [text, headers['X-Timestamp'] ?? '', '(not shown)'] : text.split('\n');
  const rows = lines.map((line, index) =>
    element(
      'tr',
      {},
      element('td', { class: 'number' }, String(index + 1)),
      element('th', { scope: 'row' }, lineNames[version][index] ?? ''),
      // Without a child, CSS shows that it is empty.
      element('td', { class: 'value mono' }, ...(line === '' ? [] : [line])),
    ),
  );
  show('signed-lines', ...rows);
  show('signature', headers[version === 1 ? 'X-Sign' : 'X-Sign-V2'] ?? '');
}
