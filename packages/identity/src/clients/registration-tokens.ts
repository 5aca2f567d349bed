/**
 * Initial access tokens (RFC 7591 §3). An operator issues one, and its holder registers up to
 * `count` clients with it, within what the operator allowed. Each registration is one claim.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { identifier, parseRecord, RejectedChangeError, readRecord } from '../records/record.ts';
import { credentialKey } from '../secrets/credential-keys.ts';
import type { SecretDependencies } from '../secrets/seal.ts';
import { isKnownScope, scopeName } from '../settings/resource.ts';
import type { SettingsRegistry } from '../settings/settings.ts';

/** The hosts of redirect URIs, or the private-use schemes of apps with their colon. */
const redirectHosts = z.array(z.string().min(1).max(253)).min(1).max(100);

/** In the record of a client that was registered with such a token. */
export const registration = z.object({
  /** `credentialHash` of the token that manages the client (RFC 7592). */
  tokenHash: z.string(),
  /** Epoch seconds. */
  issuedAt: z.number(),
  redirectHosts,
});

export type Registration = Readonly<z.infer<typeof registration>>;

/** What an operator allows. */
export const registrationTokenSchema = z.strictObject({
  /** The organization of the clients. */
  orgId: identifier,
  count: z.coerce.number().int().min(1).max(100).default(1),
  /** Days. */
  validFor: z.coerce.number().int().min(1).max(365).default(7),
  scopes: z.array(scopeName).max(200).default([]),
  redirectHosts,
});

const storedToken = registrationTokenSchema.omit({ validFor: true }).extend({
  /** `tokens revoke` names it. */
  kind: z.literal('InitialAccessToken'),
  /** Epoch seconds. */
  issuedAt: z.number(),
  expiresAt: z.number(),
});

export type RegistrationToken = Readonly<z.infer<typeof storedToken>>;

const DAY = 24 * 60 * 60;
const INDEX_KEY = 'registration-tokens';

export function createRegistrationTokens(
  dependencies: SecretDependencies & { readonly settings: SettingsRegistry },
) {
  const { store, credentialHash, settings, onDamagedRecord, now } = dependencies;
  const keyOf = (token: string) => credentialKey('InitialAccessToken', credentialHash(token));
  const secondsOf = ({ expiresAt }: RegistrationToken) =>
    Math.max(1, Math.ceil(expiresAt - now() / 1000));
  return {
    /**
     * @returns the token, which is stored only as a hash
     * @throws RejectedChangeError for a scope that is not declared
     */
    async issue({ validFor, ...allowed }: z.output<typeof registrationTokenSchema>) {
      const { scopes } = await settings.read();
      const unknown = allowed.scopes.find((name) => !isKnownScope(name) && !scopes.has(name));
      if (unknown !== undefined) {
        throw new RejectedChangeError(`No resource declares the scope ${unknown}.`);
      }
      const token = randomBytes(32).toString('base64url');
      const issuedAt = Math.floor(now() / 1000);
      const expiresAt = issuedAt + validFor * DAY;
      const record: RegistrationToken = {
        ...{ ...allowed, kind: 'InitialAccessToken', issuedAt, expiresAt },
      };
      await store.addToIndex(INDEX_KEY, keyOf(token), expiresAt * 1000);
      await store.set(keyOf(token), JSON.stringify(record), secondsOf(record));
      return { token, expiresAt };
    },
    /** Undefined if it is unknown, expired or revoked. */
    async find(token: string): Promise<RegistrationToken | undefined> {
      const key = keyOf(token);
      const parse = (text: string) => parseRecord(storedToken, text);
      const found = readRecord(await store.get(key), parse, () =>
        onDamagedRecord?.('registration token', key),
      );
      return found !== undefined && found.expiresAt * 1000 > now() ? found : undefined;
    },
    /**
     * @returns whether the token had a registration left, which the client now has. Without one, it is
     *   deleted, so that nobody can repeat the search
     */
    async take(token: string, record: RegistrationToken, clientId: string): Promise<boolean> {
      for (let i = 0; i < record.count; i += 1) {
        const key = `${keyOf(token)}:${i}`;
        if ((await store.claim(key, clientId, secondsOf(record))) === clientId) {
          return true;
        }
      }
      await store.removeFromIndex(INDEX_KEY, keyOf(token));
      await store.delete([keyOf(token)]);
      return false;
    },
    /** Ends the tokens of an organization. */
    async endOf(orgId: string): Promise<void> {
      for (const key of await store.members(INDEX_KEY)) {
        if (parseRecord(storedToken, (await store.get(key)) ?? '')?.orgId === orgId) {
          await store.delete([key]);
          await store.removeFromIndex(INDEX_KEY, key);
        }
      }
    },
    /** Whether there can be a token that is still valid. */
    exist: async (): Promise<boolean> => (await store.members(INDEX_KEY)).length > 0,
  };
}
