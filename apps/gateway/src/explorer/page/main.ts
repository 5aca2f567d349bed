/**
 * The page of the explorer. Credentials exist only in the fields and variables of this page.
 *
 *   operations ─┐       ┌▶ signature (signed text)
 *   credentials ┼▶ main ┼▶ reply
 *   sign-in ────┘       └▶ copied-calls
 *
 * Texts of users and servers become text nodes only (elements). The policy of the page forbids
 * everything else.
 */
import { showCall } from './copied-calls.ts';
import { createCredentialForm, readCredential } from './credentials.ts';
import { element, find, show } from './elements.ts';
import { type ApiDocument, createOperationForm } from './operations.ts';
import { sendRequest, showReply } from './reply.ts';
import { completeSignIn, startSignIn, takeSignInReply } from './sign-in.ts';
import { showSignature, signRequest } from './signature.ts';

await start().catch((error: unknown) => showProblem(error, 'problem'));

async function start(): Promise<void> {
  const signInReply = takeSignInReply();
  const api = await loadDocument();
  const gatewayUrl = api.servers[0].url;
  const { authorizationCode } = api.components.securitySchemes.accessToken.flows;
  const signIn = { ...authorizationCode, redirectUri: `${gatewayUrl}/explorer` };
  if (!window.isSecureContext) {
    throw new Error(
      `Open the explorer at ${signIn.redirectUri}. Browsers compute signatures only on https and localhost.`,
    );
  }
  const operationForm = createOperationForm(api, showNothing);
  // A sign-in returns without the fragment.
  const fragment = signInReply?.pending?.fragment ?? window.location.hash.slice(1);
  operationForm.choose(signInReply?.pending?.operation, new URLSearchParams(fragment));
  createCredentialForm(showNothing);

  async function send(values: FormData, isSent: boolean): Promise<void> {
    const request = operationForm.read(values);
    const credential = readCredential(values);
    const signature = await signRequest(request, credential);
    showSignature(signature);
    showCall({ gatewayUrl, request, credential });
    find('results', HTMLElement).hidden = false;
    if (isSent) {
      const headers =
        credential.kind === 'token'
          ? { [credential.header]: credential.prefix + credential.token }
          : signature?.headers;
      const reply = await sendRequest(request, headers).catch(() => {
        throw new Error('No reply arrived. The request may have taken effect.');
      });
      await showReply(reply, signature);
    }
  }

  const form = find('request', HTMLFormElement);
  const inputs = find('inputs', HTMLFieldSetElement);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const values = new FormData(form);
    showNothing();
    // Nobody can change the form while the reply to an earlier request is on its way.
    inputs.disabled = true;
    void send(values, event.submitter?.id !== 'sign-only')
      .catch((error: unknown) => showProblem(error))
      .finally(() => {
        inputs.disabled = false;
        event.submitter?.focus({ preventScroll: true });
      });
  });
  find('sign-in', HTMLButtonElement).addEventListener('click', () => {
    const clientId = find('sign-in-client', HTMLInputElement).value.trim();
    const operation = find('operation', HTMLSelectElement).value;
    void startSignIn(signIn, clientId, operation).catch((error: unknown) => showProblem(error));
  });
  find('content', HTMLElement).hidden = false;
  if (signInReply !== undefined) {
    const token = await completeSignIn(signIn, signInReply);
    find('access-token', HTMLInputElement).value = token;
    show('sign-in-state', 'You are signed in. The field contains your access token.');
  }
}

async function loadDocument(): Promise<ApiDocument> {
  const response = await fetch('openapi.json', { credentials: 'omit' });
  if (!response.ok) {
    throw new Error(`The gateway replied with ${response.status} to /openapi.json.`);
  }
  return response.json();
}

/** What the page showed belongs to an earlier request. */
function showNothing(): void {
  find('results', HTMLElement).hidden = true;
  find('reply', HTMLElement).hidden = true;
  for (const id of ['problem', 'request-problem', 'outcome']) {
    show(id);
  }
}

/** Shows a problem where the user looks: next to the button. */
function showProblem(error: unknown, place = 'request-problem'): void {
  const message = error instanceof Error ? error.message : String(error);
  show(place, element('p', { class: 'problem' }, message));
  find(place, HTMLElement).scrollIntoView({ block: 'nearest' });
}
