import { find } from './elements.ts';

/** How the request authenticates. The page keeps it in its fields only. */
export type Credential =
  | (typeof bearer & { readonly kind: 'token'; readonly token: string })
  | {
      readonly kind: 'secure-key';
      readonly variable: string;
      readonly version: 1 | 2;
      readonly clientId: string;
      readonly secureKey: string;
    };

/** A copied call reads the token from the variable. */
const bearer = { header: 'Authorization', prefix: 'Bearer ', variable: 'ACCESS_TOKEN' };
const xAccessToken = { header: 'X-Access-Token', prefix: '', variable: 'X_ACCESS_TOKEN' };

/** Shows the panel of the chosen kind. The fields of a disabled panel are neither checked nor read. */
export function createCredentialForm(onChange: () => void): void {
  const choice = find('credential', HTMLFieldSetElement);
  const update = () => {
    for (const { value, checked } of choice.querySelectorAll('input')) {
      const panel = find(`panel-${value}`, HTMLFieldSetElement);
      panel.disabled = !checked;
      panel.hidden = !checked;
    }
    onChange();
  };
  choice.addEventListener('change', update);
  update();
}

export function readCredential(values: FormData): Credential {
  const text = (name: string) => String(values.get(name));
  if (text('credential') === 'secure-key') {
    return {
      kind: 'secure-key',
      variable: 'SECURE_KEY',
      version: text('version') === '1' ? 1 : 2,
      clientId: text('client-id'),
      secureKey: text('secure-key'),
    };
  }
  const header = text('credential') === 'x-access-token' ? xAccessToken : bearer;
  return { kind: 'token', ...header, token: text('token') };
}
