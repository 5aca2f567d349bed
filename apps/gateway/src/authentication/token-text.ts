/** token68 (RFC 9110 §11.2): what every token of ours is made of, and nothing else is looked up. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const MAXIMUM_TOKEN_LENGTH = 512;

export function isTokenText(text: string): boolean {
  return text.length <= MAXIMUM_TOKEN_LENGTH && TOKEN.test(text);
}
