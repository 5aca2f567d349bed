/**
 * The page of the explorer. Credentials exist only in the fields and variables of this page.
 *
 *   operations ─▶ operation-form ─┐                    ┌▶ exchange-view (signed text, reply)
 *   sign-in ─▶ credential-form ───┴▶ main ─▶ signing/ ─┼▶ explain-rejection
 *                                                      └▶ copy-form ─▶ copied-calls/
 *
 * Texts of users and servers become text nodes only (elements). The policy of the page forbids
 * everything else.
 */
import { type ApiRequest, sendRequest } from './api-request.ts';
import { createCopyForm, hideCall } from './copy-form.ts';
import { type Credential, InputProblem } from './credential.ts';
import { createCredentialForm } from './credential-form.ts';
import { element, find, show } from './elements.ts';
import { hideReply, showReply, showSigned } from './exchange-view.ts';
import { explainRejection } from './explain-rejection.ts';
import { createOperationForm } from './operation-form.ts';
import { loadOperations } from './operations.ts';
import { loadPageSettings, type PageSettings } from './page-settings.ts';
import { completeSignIn, takeSignInReply } from './sign-in.ts';
import { signVersion1 } from './signing/sign-version-1.ts';
import { signVersion2 } from './signing/sign-version-2.ts';
import type { SignedRequest } from './signing/signed-request.ts';

const CHOSEN = 'gatehouse-explorer-operation';

/** Of the request that the page shows. */
let current = new AbortController();

await start().catch((error: unknown) => showProblem(error, 'problem'));

async function start(): Promise<void> {
  const signInReply = takeSignInReply();
  const [settings, operations] = await Promise.all([loadPageSettings(), loadOperations()]);
  if (!window.isSecureContext) {
    throw new Error(
      `Open the explorer at ${settings.redirectUri}. Browsers compute signatures only on https and localhost.`,
    );
  }
  const operationForm = createOperationForm(operations, showNothing);
  operationForm.choose(sessionStorage.getItem(CHOSEN) ?? '');
  sessionStorage.removeItem(CHOSEN);
  const rememberOperation = () => sessionStorage.setItem(CHOSEN, operationForm.chosen());
  const credentialForm = createCredentialForm(
    settings,
    rememberOperation,
    showNothing,
    showProblem,
  );
  const showCall = createCopyForm();
  const { gatewayUrl } = settings;

  async function prepare() {
    const signal = showNothing();
    const request = operationForm.read();
    const credential = credentialForm.read();
    const signed = await sign(request, credential);
    signal.throwIfAborted();
    showSigned(signed);
    showCall({ gatewayUrl, request, credential: withoutSecret(credential) });
    return { request, signed, signal, headers: signed?.headers ?? tokenHeader(credential) };
  }

  find('request', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    void prepare()
      .then((prepared) => exchange(prepared, settings))
      .catch((error: unknown) => showProblem(error));
  });
  find('sign-only', HTMLButtonElement).addEventListener('click', () => {
    void prepare().catch((error: unknown) => showProblem(error));
  });
  find('content', HTMLElement).hidden = false;
  if (signInReply !== undefined) {
    credentialForm.showSignedIn(await completeSignIn(settings, signInReply));
  }
}

interface Prepared {
  readonly request: ApiRequest;
  readonly signed: SignedRequest | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the page shows another request. */
  readonly signal: AbortSignal;
}

async function exchange({ request, signed, headers, signal }: Prepared, { advice }: PageSettings) {
  const send = find('send', HTMLButtonElement);
  send.disabled = true;
  try {
    const reply = await sendRequest(request, headers, signal).catch(() => {
      signal.throwIfAborted();
      throw new Error('No reply arrived. The request may have taken effect.');
    });
    const verification = await signed?.verify(reply);
    signal.throwIfAborted();
    showReply(reply, verification, explainRejection(reply, advice, signed?.lines));
  } finally {
    send.disabled = false;
  }
}

function sign(request: ApiRequest, credential: Credential): Promise<SignedRequest> | undefined {
  if (credential.kind !== 'secure-key') {
    return undefined;
  }
  const signVersion = credential.version === 1 ? signVersion1 : signVersion2;
  return signVersion(request, credential, Date.now());
}

function tokenHeader(credential: Credential): Readonly<Record<string, string>> {
  switch (credential.kind) {
    case 'access-token':
      return { Authorization: `Bearer ${credential.token}` };
    case 'x-access-token':
      return { 'X-Access-Token': credential.token };
    default:
      return {};
  }
}

function withoutSecret(credential: Credential) {
  return credential.kind === 'secure-key'
    ? { kind: credential.kind, version: credential.version, clientId: credential.clientId }
    : { kind: credential.kind };
}

/** Without the abort, an earlier reply could appear below another request. */
function showNothing(): AbortSignal {
  current.abort();
  current = new AbortController();
  show('problem');
  show('request-problem');
  for (const field of document.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid');
  }
  showSigned(undefined);
  hideReply();
  hideCall();
  return current.signal;
}

/** Shows a problem where the user looks, next to the button, and moves the focus to its field. */
function showProblem(error: unknown, place: 'problem' | 'request-problem' = 'request-problem') {
  if (error instanceof DOMException && error.name === 'AbortError') {
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  show(place, element('p', { class: 'problem' }, message));
  if (error instanceof InputProblem) {
    const field = find(error.field, HTMLElement);
    field.closest('details')?.setAttribute('open', '');
    field.setAttribute('aria-invalid', 'true');
    field.focus({ preventScroll: true });
  }
  find(place, HTMLElement).scrollIntoView({ block: 'nearest' });
}
