import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  hash,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';

/** A private key that all processes of one app share in the store, where it is encrypted. */
export interface SigningKey {
  /** The thumbprint of the public key (RFC 7638). */
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly privateKey: KeyObject;
  readonly privateJwk: JsonWebKey;
  /** With `kid`, `alg` and `use`, as in a JWKS document. */
  readonly publicJwk: JsonWebKey;
}

export type SigningAlgorithm = 'EdDSA' | 'RS256';

const generate = promisify(generateKeyPair);

/** Asynchronous, because an RSA key takes up to a second. */
export async function generatePrivateJwk(algorithm: SigningAlgorithm): Promise<JsonWebKey> {
  const { privateKey } =
    algorithm === 'EdDSA'
      ? await generate('ed25519')
      : await generate('rsa', { modulusLength: 2048 });
  return privateKey.export({ format: 'jwk' });
}

export function toSigningKey(privateJwk: JsonWebKey, algorithm: SigningAlgorithm): SigningKey {
  const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' });
  const bare = createPublicKey(privateKey).export({ format: 'jwk' });
  const description = { kid: thumbprint(bare), alg: algorithm, use: 'sig' };
  return {
    kid: description.kid,
    algorithm,
    privateKey,
    privateJwk: { ...privateJwk, ...description },
    publicJwk: { ...bare, ...description },
  };
}

/** RFC 7638 §3.2: the required members in lexical order, without white space. */
function thumbprint(jwk: JsonWebKey): string {
  const members =
    jwk.kty === 'RSA'
      ? { e: jwk.e, kty: jwk.kty, n: jwk.n }
      : { crv: jwk.crv, kty: jwk.kty, x: jwk.x };
  return hash('sha256', JSON.stringify(members), 'base64url');
}
