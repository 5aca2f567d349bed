/** token68 (RFC 9110 §11.2). Every token of Gatehouse matches; other texts are not looked up. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const MAXIMUM_TOKEN_LENGTH = 512;

export function isTokenText(text: string): boolean {
  return text.length <= MAXIMUM_TOKEN_LENGTH && TOKEN.test(text);
}
