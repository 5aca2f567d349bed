import { createHmac } from 'node:crypto';
import { deriveKey, type MasterKey } from '@gatehouse/identity';
import Provider from 'oidc-provider';

/** The one token that follows a refresh token, whoever asks and however often; without the key nobody can tell. */
export type RefreshSuccessor = (refreshToken: string) => string;

export function createRefreshSuccessor(masterKey: MasterKey): RefreshSuccessor {
  const key = deriveKey(masterKey, 'refresh-successor');
  return (refreshToken) => createHmac('sha256', key).update(refreshToken).digest('base64url');
}

/** Makes the library's refresh handler give that token: it asks the new token for its id when it saves it. */
export function deriveRefreshTokens(provider: Provider, successorOf: RefreshSuccessor): void {
  const prototype = provider.RefreshToken.prototype as unknown as { generateTokenId(): string };
  const { generateTokenId } = prototype;
  prototype.generateTokenId = function deriveOrGenerate() {
    const predecessor = Provider.ctx?.oidc.entities.RotatedRefreshToken;
    return predecessor === undefined ? generateTokenId.call(this) : successorOf(predecessor.jti);
  };
}
