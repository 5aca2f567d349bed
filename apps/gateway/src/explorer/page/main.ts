/**
 * The page of the explorer. Credentials exist only in the fields and variables of this page.
 *
 *   operations ─┐               ┌▶ signature (signed text)
 *   sign-in ─▶ credentials ─▶ main ─┼▶ reply
 *                               └▶ copied-calls
 *
 * Texts of users and servers become text nodes only (elements). The policy of the page forbids
 * everything else.
 */
import { createCopyForm, hideCall } from './copied-calls.ts';
import { type Credential, createCredentialForm, type PageSettings } from './credentials.ts';
import { element, find, InputProblem, loadJson, show } from './elements.ts';
import { createOperationForm } from './operations.ts';
import { hideReply, sendRequest, showReply } from './reply.ts';
import { completeSignIn, takeSignInReply } from './sign-in.ts';
import { showSignature, signRequest } from './signature.ts';

const CHOSEN = 'gatehouse-explorer-operation';

/** Of the request that the page shows. */
let current = new AbortController();

await start().catch((error: unknown) => showProblem(error, 'problem'));

async function start(): Promise<void> {
  const signInReply = takeSignInReply();
  const settings = await loadJson<PageSettings>('explorer/settings.json');
  if (!window.isSecureContext) {
    throw new Error(
      `Open the explorer at ${settings.redirectUri}. Browsers compute signatures only on https and localhost.`,
    );
  }
  const operationForm = await createOperationForm(showNothing);
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
    const signature = await signRequest(request, credential);
    signal.throwIfAborted();
    showSignature(signature);
    showCall({ gatewayUrl, request, credential });
    return { request, signature, signal, headers: signature?.headers ?? tokenHeader(credential) };
  }

  async function exchange({ request, signature, headers, signal }: Prepared): Promise<void> {
    const send = find('send', HTMLButtonElement);
    send.disabled = true;
    try {
      const reply = await sendRequest(request, headers, signal).catch(() => {
        signal.throwIfAborted();
        throw new Error('No reply arrived. The request may have taken effect.');
      });
      await showReply(reply, signature, settings.advice, signal);
    } finally {
      send.disabled = false;
    }
  }
  type Prepared = Awaited<ReturnType<typeof prepare>>;

  find('request', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    void prepare()
      .then(exchange)
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

/** Without the abort, an earlier reply could appear below another request. */
function showNothing(): AbortSignal {
  current.abort();
  current = new AbortController();
  show('problem');
  show('request-problem');
  for (const field of document.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid');
  }
  showSignature(undefined);
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
