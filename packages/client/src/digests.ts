import { createWebDigests, type Digests } from '@gatehouse/signing/core';
import { GatehouseError } from './gatehouse-error.ts';

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
    : createBrowserDigests();
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

/** WebCrypto has no MD5. */
function createBrowserDigests(): Digests {
  const digests = createWebDigests();
  return {
    ...digests,
    digest(algorithm, parts) {
      if (algorithm === 'MD5') {
        throw new GatehouseError('digest_unavailable', 'This platform has no MD5.', {
          hint: 'Use signature version 2, which needs no MD5.',
        });
      }
      return digests.digest(algorithm, parts);
    },
  };
}
