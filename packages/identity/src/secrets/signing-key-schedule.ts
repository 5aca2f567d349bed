/** What operators see of the signing keys, and how they rotate them before their time. */
import type { SecretDependencies } from './seal.ts';
import {
  algorithms,
  defaultSigningKeyPolicy,
  keptSeconds,
  loadSigningKeys,
  openRing,
  type SigningPurpose,
  select,
  signingKeyRecord,
  thumbprint,
} from './signing-keys.ts';

export function createSigningKeySchedule(records: SecretDependencies) {
  const { store, now } = records;
  return {
    /**
     * Publishes a successor of the key that signs now. It signs when verifiers could load it.
     *
     * @returns whether a key was made: not if a successor is already published
     */
    async rotateSigningKeys(purpose: SigningPurpose, policy = defaultSigningKeyPolicy) {
      let isMade = false;
      await loadSigningKeys(purpose, {
        ...records,
        policy: { ...policy, rotateAfterSeconds: policy.publishAheadSeconds },
        onMade: () => {
          isMade = true;
        },
      });
      return isMade;
    },
    /** The keys of a purpose, newest first, with their schedule in epoch seconds. None before its first use. */
    async describeSigningKeys(purpose: SigningPurpose, policy = defaultSigningKeyPolicy) {
      const storeKey = signingKeyRecord(purpose);
      const ring = openRing(await store.get(storeKey), storeKey, records);
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
    },
  };
}
