import { createHmac, createSecretKey } from 'node:crypto';
import { lastingKey, type MasterKey } from '@gatehouse/identity';
import { currentContext } from './current-context.ts';
import { methodJoint, type Patch } from './patch.ts';

/** The one token that follows a refresh token. Only a holder of the master key can compute it. */
export type RefreshSuccessor = (refreshToken: string) => string;

export function createRefreshSuccessor(masterKey: MasterKey): RefreshSuccessor {
  const key = createSecretKey(lastingKey(masterKey, 'refresh-successor'));
  return (refreshToken) => createHmac('sha256', key).update(refreshToken).digest('base64url');
}

export const refreshTokenValues: Patch = {
  name: 'refresh-token-values',
  reason:
    'Every use of a refresh token within its grace must give the same successor ' +
    '(docs/decisions/12-single-use.md). The library generates random values only.',
  libraryFile: 'lib/models/base_model.js',
  joints: [
    methodJoint(
      'RefreshToken.prototype',
      (provider) => provider.RefreshToken.prototype,
      'generateTokenId',
      0,
    ),
  ],
  apply(provider, { successorOf }) {
    const prototype = provider.RefreshToken.prototype as unknown as { generateTokenId(): string };
    const { generateTokenId } = prototype;
    prototype.generateTokenId = function deriveOrGenerate() {
      const predecessor = currentContext()?.oidc.entities.RotatedRefreshToken;
      return predecessor === undefined ? generateTokenId.call(this) : successorOf(predecessor.jti);
    };
  },
};
