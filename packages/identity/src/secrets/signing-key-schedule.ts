/** What operators see of the signing keys, and how they rotate them before their time. */
import {
  algorithms,
  defaultSigningKeyPolicy,
  keptSeconds,
  loadSigningKeys,
  openRing,
  type SigningKeyDependencies,
  type SigningPurpose,
  select,
  signingKeyRecord,
  thumbprint,
} from './signing-keys.ts';

/**
 * Publishes a successor of the key that signs now. It signs when verifiers could load it.
 *
 * @returns whether a key was made: not if a successor is already published
 */
export async function rotateSigningKeys(
  purpose: SigningPurpose,
  dependencies: SigningKeyDependencies,
): Promise<boolean> {
  const { policy = defaultSigningKeyPolicy } = dependencies;
  let isMade = false;
  await loadSigningKeys(purpose, {
    ...dependencies,
    policy: { ...policy, rotateAfterSeconds: policy.publishAheadSeconds },
    onMade: () => {
      isMade = true;
    },
  });
  return isMade;
}

/** The keys of a purpose, newest first, with their schedule in epoch seconds. None before its first use. */
export async function describeSigningKeys(
  purpose: SigningPurpose,
  dependencies: SigningKeyDependencies,
) {
  const { store, now = Date.now, policy = defaultSigningKeyPolicy } = dependencies;
  const storeKey = signingKeyRecord(purpose);
  const ring = openRing(await store.get(storeKey), storeKey, dependencies);
  const kid = ring.length === 0 ? '' : select(ring, purpose, now(), policy).current.kid;
  const current = ring.findIndex(({ jwk }) => thumbprint(jwk, 'base64url') === kid);
  return ring.map(({ jwk, createdAt }, i) => {
    const madeAt = Math.floor(createdAt / 1000);
    const successor = ring[i - 1];
    const signsUntil = successor && successor.createdAt / 1000 + policy.publishAheadSeconds;
    const state = i === current ? 'signing' : i < current ? 'published' : 'retired';
    return {
      kid: thumbprint(jwk, 'base64url'),
      algorithm: algorithms[purpose],
      createdAt: madeAt,
      /** A retired one still verifies tokens. */
      state: state as 'published' | 'signing' | 'retired',
      signsUntil: Math.floor(signsUntil ?? madeAt + policy.rotateAfterSeconds),
      deletedAt: successor && Math.floor(successor.createdAt / 1000 + keptSeconds(policy)),
    };
  });
}
