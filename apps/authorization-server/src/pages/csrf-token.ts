import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { deriveKeys, type MasterKey } from '@gatehouse/identity';

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
  const { keys, refresh } = deriveKeys(masterKey, 'csrf');
  const compute = (key: Buffer, owner: string) =>
    createHmac('sha256', createSecretKey(key)).update(owner).digest();
  const verifyWithAnyKey = (owner: string, given: Buffer) =>
    keys().some((key) => {
      const expected = compute(key, owner);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
  return {
    issue: (owner) => compute(keys()[0], owner).toString('base64url'),
    verify(owner, presented) {
      const given = Buffer.from(typeof presented === 'string' ? presented : '', 'base64url');
      return verifyWithAnyKey(owner, given) || (refresh() && verifyWithAnyKey(owner, given));
    },
  };
}
