const CLIENT_ID = /^[\x21-\x7e]{1,128}$/;

/** Whether to look the id up. A caller may put any text of any length into `X-Client-Id`. */
export function isClientId(text: string | string[] | undefined): text is string {
  return typeof text === 'string' && CLIENT_ID.test(text);
}
