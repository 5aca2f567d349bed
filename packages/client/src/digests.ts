import type { SignatureAlgorithm } from '@gatehouse/request-signature/signing';
import { GatehouseError } from './gatehouse-error.ts';

type Parts = readonly (string | Uint8Array)[];

/** Results are lower-case hexadecimal digits. Text is encoded as UTF-8. */
export interface Digests {
  digest(algorithm: SignatureAlgorithm, parts: Parts): string | Promise<string>;
  /** HMAC-SHA-256. */
  hmac(secureKey: string, text: string): string | Promise<string>;
}

interface NodeHash {
  update(data: string | Uint8Array): NodeHash;
  digest(encoding: 'hex'): string;
}

interface NodeCrypto {
  createHash(algorithm: string): NodeHash;
  createHmac(algorithm: string, key: string): NodeHash;
}

/**
 * `node:crypto` in Node, Deno and Bun. It is synchronous, so it does not delay a call, and it has
 * MD5. Browsers, and Node before 20.16, have only WebCrypto.
 */
export function platformDigests(): Digests {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => unknown };
  };
  const nodeCrypto = process?.getBuiltinModule?.('node:crypto') as NodeCrypto | undefined;
  return nodeCrypto === undefined ? createWebDigests() : createNodeDigests(nodeCrypto);
}

function createNodeDigests({ createHash, createHmac }: NodeCrypto): Digests {
  return {
    digest(algorithm, parts) {
      const hash = createHash(algorithm === 'MD5' ? 'md5' : 'sha256');
      for (const part of parts) {
        hash.update(part);
      }
      return hash.digest('hex');
    },
    hmac: (secureKey, text) => createHmac('sha256', secureKey).update(text).digest('hex'),
  };
}

export function createWebDigests(): Digests {
  const importKey = (secureKey: string) =>
    crypto.subtle.importKey('raw', utf8(secureKey), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'sign',
    ]);
  const keys = new Map<string, ReturnType<typeof importKey>>();
  return {
    async digest(algorithm, parts) {
      if (algorithm === 'MD5') {
        throw new GatehouseError('digest_unavailable', 'This platform has no MD5.', {
          hint: 'Use signature version 2, which needs no MD5.',
        });
      }
      return hex(await crypto.subtle.digest('SHA-256', concatenate(parts)));
    },
    async hmac(secureKey, text) {
      const key = keys.get(secureKey) ?? importKey(secureKey);
      keys.set(secureKey, key);
      return hex(await crypto.subtle.sign('HMAC', await key, utf8(text)));
    },
  };
}

function concatenate(parts: Parts): Uint8Array<ArrayBuffer> {
  const encoded = parts.map((part) => (typeof part === 'string' ? utf8(part) : part));
  const whole = new Uint8Array(encoded.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of encoded) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function hex(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
