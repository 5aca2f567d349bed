// Passkeys: runs the ceremony of each form[data-passkey], and posts its result with the form.
const { PublicKeyCredential } = window;
let running = new AbortController();

async function ask(form, mediation) {
  // One ceremony at a time: the button ends the one that waits in the field for the username.
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const problem = form.querySelector('.problem');
  problem.hidden ||= mediation === undefined;
  const options = JSON.parse(form.dataset.options);
  try {
    const credential = await (form.dataset.passkey === 'create'
      ? navigator.credentials.create({
          publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
          signal,
        })
      : navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
          signal,
          ...(mediation && { mediation }),
        }));
    const { passkey, remember } = form.elements;
    passkey.value = JSON.stringify(credential.toJSON());
    if (remember) {
      remember.value = document.querySelector('[type=checkbox][name=remember]').checked
        ? 'yes'
        : '';
    }
    form.submit();
  } catch (error) {
    if (mediation || error.name === 'AbortError') {
      return;
    }
    // The user can end a ceremony.
    problem.hidden = error.name === 'NotAllowedError';
    await wait(form);
  }
}

async function wait(form) {
  const isOffered = form.dataset.passkey === 'conditional';
  if (isOffered && (await PublicKeyCredential.isConditionalMediationAvailable?.())) {
    await ask(form, 'conditional');
  }
}

if (PublicKeyCredential?.parseRequestOptionsFromJSON) {
  for (const form of document.querySelectorAll('form[data-passkey]')) {
    form.hidden = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void ask(form);
    });
    void wait(form);
  }
}
