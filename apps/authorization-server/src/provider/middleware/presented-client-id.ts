import type { KoaContextWithOIDC } from 'oidc-provider';

/** The client id that a request presents, authenticated or not. Empty if there is none. */
export function presentedClientId({ oidc, headers }: KoaContextWithOIDC): string {
  const { client, params } = oidc;
  if (client !== undefined || typeof params?.client_id === 'string') {
    return client?.clientId ?? String(params?.client_id);
  }
  const [, encoded = ''] = /^basic +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  const [id = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':', 1);
  try {
    return decodeURIComponent(id.replaceAll('+', '%20'));
  } catch {
    return '';
  }
}
