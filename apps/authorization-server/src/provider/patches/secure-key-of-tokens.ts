import type { IncomingMessage } from 'node:http';
import type { ClientRegistry } from '@gatehouse/identity';
import Provider from 'oidc-provider';

/** The member of a stored token that names the key of its client; `findLiveHolder` compares it. */
export interface TokenOfSecureKey {
  secureKeyId?: string | undefined;
}

/**
 * Tokens know the secure key that they were issued with, so that removing the key revokes them. The registry
 * compares secrets, because the library knows one in plaintext and pads it with NUL. The id of the key that matched
 * belongs to the request; every token that the request saves gets it.
 */
export function rememberSecureKeys(provider: Provider, clients: ClientRegistry): void {
  const presented = new WeakMap<IncomingMessage, string>();

  provider.Client.prototype.compareClientSecret = async function compareClientSecret(actual) {
    const keyId = clients.identifySecret(await clients.find(this.clientId), actual);
    if (keyId !== undefined && Provider.ctx !== undefined) {
      presented.set(Provider.ctx.req, keyId);
    }
    return keyId !== undefined;
  };

  for (const model of [provider.AccessToken, provider.ClientCredentials, provider.RefreshToken]) {
    storeMember(model);
    const prototype = model.prototype as SavedModel;
    const { save } = prototype;
    prototype.save = function saveWithKey(...lifetime) {
      this.secureKeyId ??= Provider.ctx && presented.get(Provider.ctx.req);
      return save.apply(this, lifetime);
    };
  }
}

interface SavedModel extends TokenOfSecureKey {
  save(...lifetime: unknown[]): Promise<string>;
}

function storeMember(model: object): void {
  const { IN_PAYLOAD } = model as { readonly IN_PAYLOAD: readonly string[] };
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...IN_PAYLOAD, 'secureKeyId'] });
}
