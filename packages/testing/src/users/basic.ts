/** The Authorization header of HTTP Basic. RFC 6749 §2.3.1: form-encoded, then base64. */
export function basic(clientId: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams({ v: text }).toString().slice(2);
  return `Basic ${btoa(`${encode(clientId)}:${encode(secret)}`)}`;
}
