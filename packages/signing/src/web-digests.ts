import type { Digests } from './signer.ts';

/** The digests of WebCrypto, which rejects MD5. */
export function createWebDigests(): Digests {
  return {
    async digest(algorithm, parts) {
      return hex(await crypto.subtle.digest(algorithm, concatenate(parts)));
    },
    hmacWith(secureKey) {
      const importKey = () =>
        crypto.subtle.importKey('raw', utf8(secureKey), { name: 'HMAC', hash: 'SHA-256' }, false, [
          'sign',
        ]);
      let key: ReturnType<typeof importKey> | undefined;
      return async (text) => {
        key ??= importKey();
        return hex(await crypto.subtle.sign('HMAC', await key, utf8(text)));
      };
    },
  };
}

function concatenate(parts: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const encoded = parts.map((part) => (typeof part === 'string' ? utf8(part) : part));
  const whole = new Uint8Array(encoded.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of encoded) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

const encoder = new TextEncoder();

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

function hex(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
