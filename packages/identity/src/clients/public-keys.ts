/**
 * The public keys that a client registers to authenticate with private_key_jwt (RFC 7523) at the
 * endpoints of the authorization server: a set of keys, or the address of one. Such a client has no
 * other way to authenticate there. If it also has a secure key, that key signs requests.
 */
import { createPublicKey, hash, type JsonWebKey } from 'node:crypto';
import { z } from 'zod';
import { memoized, RejectedChangeError } from '../records/record.ts';
import { thumbprint } from '../secrets/signing-keys.ts';

/** The algorithms that verify an assertion. None of them uses a shared secret. */
export const assertionAlgorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
] as const;

const MAXIMUM_KEYS = 10;
const MAXIMUM_KEY_CHARACTERS = 8192;
const MINIMUM_RSA_BITS = 2048;
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];
/** P-256, P-384 and P-521. */
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];

/** A JWK (RFC 7517) that can verify assertions. */
export const publicKey = z
  .looseObject({
    kid: z.string().min(1).max(200).optional(),
    use: z.literal('sig').optional(),
    alg: z.enum(assertionAlgorithms).optional(),
  })
  .superRefine((key, context) => {
    const message = problemOf(key);
    if (message !== undefined) {
      context.addIssue({ code: 'custom', message });
    }
  });

export type PublicKey = z.infer<typeof publicKey>;

/** A JWK Set (RFC 7517 §5) of an operator. Each of its keys can verify assertions. */
export const publicKeySet = z
  .object({ keys: z.array(publicKey).min(1, 'must have a key').max(MAXIMUM_KEYS) })
  .refine(
    ({ keys }) => new Set(keys.map(({ kid }) => kid)).size === keys.length,
    'must have a different kid for each key',
  );

function problemOf(key: PublicKey): string | undefined {
  if (PRIVATE_MEMBERS.some((member) => key[member] !== undefined)) {
    return 'is a private or shared key. Register the public key only, and replace this key';
  }
  if (JSON.stringify(key).length > MAXIMUM_KEY_CHARACTERS) {
    return `is longer than ${MAXIMUM_KEY_CHARACTERS} characters`;
  }
  try {
    const parsed = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    const { modulusLength = 0, namedCurve = '' } = parsed.asymmetricKeyDetails ?? {};
    const type = parsed.asymmetricKeyType;
    const isStrong = type === 'rsa' ? modulusLength >= MINIMUM_RSA_BITS : type === 'ed25519';
    return isStrong || CURVES.includes(namedCurve)
      ? undefined
      : `is weaker than RSA with ${MINIMUM_RSA_BITS} bits, or has another curve than P-256, P-384, P-521 and Ed25519`;
  } catch {
    return 'is not a public key of the type RSA, EC or OKP';
  }
}

interface DeclaredKeys {
  readonly jwks?: { keys: PublicKey[] } | undefined;
  readonly jwksUri?: string | undefined;
}

/** Whether the client authenticates with private_key_jwt. */
export const hasPublicKeys = ({ jwks, jwksUri }: DeclaredKeys): boolean =>
  jwks !== undefined || jwksUri !== undefined;

/** Not base64url: commands would read an id that begins with `-` as an option. */
const publicKeyId = (key: JsonWebKey) => thumbprint(key, 'hex');

/**
 * Tokens record one of these ids, and are revoked when it disappears from the client. An address
 * has one id for all of its keys, because the client replaces them by itself.
 */
export const publicKeyIds = memoized(({ jwks, jwksUri }: DeclaredKeys): readonly string[] => [
  ...(jwks?.keys ?? []).map(publicKeyId),
  ...(jwksUri === undefined ? [] : [hash('sha256', jwksUri, 'hex')]),
]);

/**
 * The declared keys without the key of this id.
 *
 * @throws RejectedChangeError if the tokens of the key should be kept
 */
export function withoutPublicKey(
  { jwks, jwksUri }: DeclaredKeys,
  id: string,
  { keepTokens }: { readonly keepTokens?: boolean | undefined },
): DeclaredKeys {
  if (keepTokens === true) {
    throw new RejectedChangeError('The tokens of a public key cannot be kept.');
  }
  const kept = jwks?.keys.filter((key) => publicKeyId(key) !== id) ?? [];
  return {
    jwks: kept.length === 0 ? undefined : { keys: kept },
    jwksUri: publicKeyIds({ jwksUri }).includes(id) ? undefined : jwksUri,
  };
}
