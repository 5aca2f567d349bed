import type { IncomingMessage } from 'node:http';
import type Provider from 'oidc-provider';
import { currentContext } from './current-context.ts';
import { type Joint, methodJoint, type Patch, propertyJoint } from './patch.ts';

/**
 * The member of a stored token that names the secure key of its client; `findLiveHolder` compares
 * it.
 */
export interface TokenOfSecureKey {
  secureKeyId?: string | undefined;
}

interface SavedToken extends TokenOfSecureKey {
  save(...lifetime: unknown[]): Promise<string>;
}

const modelNames = ['AccessToken', 'ClientCredentials', 'RefreshToken'] as const;

const provenKeys = new WeakMap<IncomingMessage, string | undefined>();

/** The id of the secure key that the client of a request proved. Undefined if it proved none. */
export const provenKeyOf = (request: IncomingMessage) => provenKeys.get(request);

/**
 * Remembers the secure key that a request authenticated with. Every token that the request saves
 * gets its id.
 */
export const secureKeysOfTokens: Patch = {
  name: 'secure-keys-of-tokens',
  reason:
    'Removing a secure key revokes the tokens that were issued with it (docs/decisions/17-secure-keys.md). ' +
    'The library knows one plaintext secret for a client, pads it with NUL when it compares, and stores no custom ' +
    'member in refresh tokens.',
  libraryFile: 'lib/models/base_token.js',
  joints: [
    methodJoint(
      'Client.prototype',
      (provider) => provider.Client.prototype,
      'compareClientSecret',
      1,
    ),
    ...modelNames.flatMap(jointsOfModel),
  ],
  apply(provider, { identity: { clients } }) {
    provider.Client.prototype.compareClientSecret = async function compareClientSecret(actual) {
      const context = currentContext();
      const keyId = clients.identifySecret(await clients.find(this.clientId), actual);
      if (context !== undefined) {
        provenKeys.set(context.req, keyId);
      }
      return keyId !== undefined;
    };

    for (const name of modelNames) {
      const model = provider[name];
      storeSecureKeyId(model);
      const prototype = model.prototype as SavedToken;
      const { save } = prototype;
      prototype.save = function saveWithKey(...lifetime) {
        const context = currentContext();
        this.secureKeyId ??= context && provenKeys.get(context.req);
        return save.apply(this, lifetime);
      };
    }
  },
};

function jointsOfModel(name: (typeof modelNames)[number]): readonly Joint[] {
  const modelOf = (provider: Provider) => provider[name];
  return [
    methodJoint(`${name}.prototype`, (provider) => modelOf(provider).prototype, 'save', 0),
    propertyJoint(
      name,
      modelOf,
      'IN_PAYLOAD',
      (value) => Array.isArray(value) && value.includes('clientId'),
    ),
  ];
}

function storeSecureKeyId(model: object): void {
  const { IN_PAYLOAD } = model as { readonly IN_PAYLOAD: readonly string[] };
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...IN_PAYLOAD, 'secureKeyId'] });
}
