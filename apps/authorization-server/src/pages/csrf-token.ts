import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey, type MasterKey } from '@gatehouse/identity';

export interface CsrfTokens {
  /**
   * The token of the forms of one interaction or one signed-in session.
   *
   * @param owner a value that only that browser's record holds; a session gets a new one at every
   * sign-in
   */
  issue(owner: string): string;
  verify(owner: string, presented: unknown): boolean;
}

export function createCsrfTokens(masterKey: MasterKey): CsrfTokens {
  const key = deriveKey(masterKey, 'csrf');
  const compute = (owner: string) => createHmac('sha256', key).update(owner).digest();
  return {
    issue: (owner) => compute(owner).toString('base64url'),
    verify(owner, presented) {
      const given = Buffer.from(typeof presented === 'string' ? presented : '', 'base64url');
      const expected = compute(owner);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
