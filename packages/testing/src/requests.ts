import { createHash, randomBytes } from 'node:crypto';

interface ClientCredentials {
  readonly clientId: string;
  readonly secureKey: string;
}

/** The content of a bootstrap file with one machine client, whose id is `one`. */
export function oneClient(secureKey: string, more: object = {}) {
  const client = { clientId: 'one', name: 'One', orgId: 'org-1', secureKey };
  const rights = { grantTypes: ['client_credentials'], scopes: ['device:read'] };
  return {
    organizations: [{ id: 'org-1', name: 'One' }],
    clients: [{ ...client, ...rights, ...more }],
  };
}

/** Posts a form as a client. */
export function postAs(
  url: string,
  { clientId, secureKey }: ClientCredentials,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { authorization: basic(clientId, secureKey), ...headers },
    body: new URLSearchParams(form),
  });
}

/** A code verifier, and the parameters of its challenge (RFC 7636). */
export function newPkce(verifier = randomBytes(32).toString('base64url')) {
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  return { verifier, pkce: { code_challenge, code_challenge_method: 'S256' } };
}

/** Issues an access token to a machine. Its client is `one` unless another one is given. */
export async function machineToken(
  { authorizationServerUrl }: { readonly authorizationServerUrl: string },
  secureKey: string,
  clientId = 'one',
): Promise<string> {
  const form = { grant_type: 'client_credentials' };
  const reply = await postAs(`${authorizationServerUrl}/token`, { clientId, secureKey }, form);
  return String(Reflect.get((await reply.json()) as object, 'access_token'));
}

/** The headers of a signature of version 1 with SHA-256. */
export function signatureHeaders(
  { clientId, secureKey }: ClientCredentials,
  text = '',
  timestamp: number | string = Date.now(),
) {
  const digest = createHash('sha256').update(`${text}${timestamp}${secureKey}`).digest('hex');
  return { 'X-Client-Id': clientId, 'X-Timestamp': String(timestamp), 'X-Sign': digest };
}

/** The Authorization header of HTTP Basic. RFC 6749 §2.3.1: form-encoded, then base64. */
export function basic(clientId: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams({ v: text }).toString().slice(2);
  return `Basic ${btoa(`${encode(clientId)}:${encode(secret)}`)}`;
}
