import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import type { Store } from '@gatehouse/store';
import type { Sealer } from './seal.ts';

/** A private key that all processes of one role share through the store, sealed at rest. */
export interface SigningKey {
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly privateKey: KeyObject;
  readonly privateJwk: JsonWebKey;
  /** With `kid`, `alg` and `use`, ready for a JWKS document. */
  readonly publicJwk: JsonWebKey;
}

export type SigningAlgorithm = 'EdDSA' | 'RS256';

/** Who signs: the provider its ID tokens, the gateway what it tells the services behind it. */
export type SigningPurpose = 'authorization-server' | 'gateway';

/** Makes the key at first start. Several processes may start at once: the claim lets one key win. */
export async function loadSigningKey(
  purpose: SigningPurpose,
  algorithm: SigningAlgorithm,
  dependencies: { readonly store: Store; readonly sealer: Sealer },
): Promise<SigningKey> {
  const { store, sealer } = dependencies;
  const storeKey = `signing-key:${purpose}:${algorithm}`;
  const sealed =
    (await store.get(storeKey)) ??
    (await store.claim(storeKey, sealer.seal(JSON.stringify(generate(algorithm)), storeKey)));
  const privateJwk = JSON.parse(sealer.open(sealed, storeKey)) as JsonWebKey;
  const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' });
  const bare = createPublicKey(privateKey).export({ format: 'jwk' });
  const kid = thumbprint(bare);
  const description = { kid, alg: algorithm, use: 'sig' };
  return {
    kid,
    algorithm,
    privateKey,
    privateJwk: { ...privateJwk, ...description },
    publicJwk: { ...bare, ...description },
  };
}

function generate(algorithm: SigningAlgorithm): JsonWebKey {
  const { privateKey } =
    algorithm === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ format: 'jwk' });
}

/** RFC 7638 §3.2: the required members, in lexical order, without white space. */
function thumbprint(jwk: JsonWebKey): string {
  const members =
    jwk.kty === 'RSA'
      ? { e: jwk.e, kty: jwk.kty, n: jwk.n }
      : { crv: jwk.crv, kty: jwk.kty, x: jwk.x };
  return hash('sha256', JSON.stringify(members), 'base64url');
}
