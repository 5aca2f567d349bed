import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey, type MasterKey } from '@gatehouse/identity';

export interface CsrfTokens {
  /** The token of one interaction's forms; the interaction's id is known to its own browser only. */
  issue(interactionId: string): string;
  verify(interactionId: string, presented: unknown): boolean;
}

export function createCsrfTokens(masterKey: MasterKey): CsrfTokens {
  const key = deriveKey(masterKey, 'csrf');
  const compute = (id: string) => createHmac('sha256', key).update(id).digest();
  return {
    issue: (interactionId) => compute(interactionId).toString('base64url'),
    verify(interactionId, presented) {
      const given = Buffer.from(typeof presented === 'string' ? presented : '', 'base64url');
      const expected = compute(interactionId);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
