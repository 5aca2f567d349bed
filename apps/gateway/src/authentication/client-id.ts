const CLIENT_ID = /^[\x21-\x7e]{1,128}$/;

/** Whether it is worth a look into the registry: `X-Client-Id` may be anything, and of any length. */
export function isClientId(text: string | string[] | undefined): text is string {
  return typeof text === 'string' && CLIENT_ID.test(text);
}
