// Shows a password while its button is pressed down, and hides it before the form is sent, so that
// browsers do not keep it as an ordinary text.
for (const button of document.querySelectorAll('button.reveal')) {
  const field = document.getElementById(button.getAttribute('aria-controls'));
  const show = (shown) => {
    field.type = shown ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(shown));
  };
  button.addEventListener('click', () => show(field.type === 'password'));
  field.form.addEventListener('submit', () => show(false));
  button.hidden = false;
}
