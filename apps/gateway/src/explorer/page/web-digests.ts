/** Digests of WebCrypto, as lower-case hexadecimal digits. Browsers have no MD5. */
export async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  return hex(await crypto.subtle.digest('SHA-256', bytesOf(data)));
}

export async function hmacSha256(secureKey: string, text: string): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytesOf(secureKey), algorithm, false, ['sign']);
  return hex(await crypto.subtle.sign('HMAC', key, bytesOf(text)));
}

export function bytesOf(data: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}

export function concatenate(
  parts: readonly (string | Uint8Array<ArrayBuffer>)[],
): Uint8Array<ArrayBuffer> {
  const encoded = parts.map(bytesOf);
  const whole = new Uint8Array(encoded.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of encoded) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

function hex(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
