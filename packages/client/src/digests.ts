import type { SignatureAlgorithm } from '@gatehouse/signing/core';
import { GatehouseError } from './gatehouse-error.ts';

type Parts = readonly (string | Uint8Array)[];

/** Results are lower-case hexadecimal digits. Text is encoded as UTF-8. */
export interface Digests {
  digest(algorithm: SignatureAlgorithm, parts: Parts): string | Promise<string>;
  /** HMAC-SHA-256 with this key. */
  hmacWith(secureKey: string): (text: string) => string | Promise<string>;
}

type NodeCrypto = Pick<typeof import('node:crypto'), 'createHash' | 'createHmac' | 'hash'>;

/**
 * `node:crypto` in Node, Deno and Bun. It is synchronous, so it does not delay a call, and it has
 * MD5. Browsers, Node before 20.16, and Deno before 2.2 have only WebCrypto.
 */
export function platformDigests(): Digests {
  const nodeCrypto: Partial<NodeCrypto> | undefined =
    globalThis.process?.getBuiltinModule?.('node:crypto');
  const { hash, createHash, createHmac } = nodeCrypto ?? {};
  return hash && createHash && createHmac
    ? createNodeDigests({ hash, createHash, createHmac })
    : createWebDigests();
}

/** `hash` creates no object that the garbage collector must free later. */
function createNodeDigests({ createHash, createHmac, hash }: NodeCrypto): Digests {
  return {
    digest(algorithm, parts) {
      const name = algorithm === 'MD5' ? 'md5' : 'sha256';
      const [first = ''] = parts;
      return parts.length === 1
        ? hash(name, first)
        : parts.reduce((digest, part) => digest.update(part), createHash(name)).digest('hex');
    },
    hmacWith: (secureKey) => (text) => createHmac('sha256', secureKey).update(text).digest('hex'),
  };
}

export function createWebDigests(): Digests {
  return {
    async digest(algorithm, parts) {
      if (algorithm === 'MD5') {
        throw new GatehouseError('digest_unavailable', 'This platform has no MD5.', {
          hint: 'Use signature version 2, which needs no MD5.',
        });
      }
      return hex(await crypto.subtle.digest('SHA-256', concatenate(parts)));
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

const encoder = new TextEncoder();

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

function hex(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
