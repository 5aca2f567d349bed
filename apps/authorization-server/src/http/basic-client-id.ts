/**
 * The client id of Basic credentials, authenticated or not. Empty if the header has none. It may be
 * a secret in the wrong field, so only registered ids may be logged.
 */
export function basicClientId(authorization: string | undefined): string {
  const [, encoded = ''] = /^basic +(\S+)$/i.exec(authorization ?? '') ?? [];
  const [id = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':', 1);
  try {
    return decodeURIComponent(id.replaceAll('+', '%20'));
  } catch {
    return '';
  }
}
