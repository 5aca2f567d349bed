/** The secure keys of clients: a rotation adds one, and removes an older one when it is unused. */
import type { AuditEvent, Client } from '@gatehouse/identity';
import { z } from 'zod';
import { type ClientView, findRecordedClient, toClientView } from './clients.ts';
import { type Dependencies, flag, invalidInput, type Operator, parseInput } from './operator.ts';

const KEEPS = 'Tokens of the removed key stay valid until they expire.';

export const keyRotation = z.strictObject({
  replaceOldest: z
    .boolean()
    .default(false)
    .describe('Remove the older of two keys, and revoke its tokens.'),
  keepTokens: z.boolean().default(false).describe(KEEPS),
});
export type KeyRotation = z.input<typeof keyRotation>;

export const keyRemoval = z.strictObject({
  keepTokens: flag.default(false).describe(KEEPS),
  revoke: flag.default(false).describe('Also revoke every other token of the client.'),
});
export type KeyRemoval = z.input<typeof keyRemoval>;

export function createClientKeyActs({ identity, record }: Dependencies) {
  const { clients, revocations } = identity;
  const view = (client: Client) => toClientView(client, identity);

  return {
    /**
     * Adds a new secure key. The existing key stays valid.
     *
     * @returns the key, which is shown only once
     */
    async rotate(operator: Operator, clientId: string, input: KeyRotation = {}) {
      const options = parseInput(keyRotation, input);
      if (options.keepTokens && !options.replaceOldest) {
        throw invalidInput('keepTokens', 'requires replaceOldest. Otherwise, no key is removed');
      }
      await findRecordedClient(clientId, identity);
      const rotated = await clients.rotateKey(clientId, options);
      const { client, secureKey, keyId, replacedKeyId } = rotated;
      const changed = { event: 'client_changed', clientId } as const;
      const events: AuditEvent[] = [{ ...changed, change: 'key_added', keyId }];
      if (replacedKeyId !== undefined) {
        events.push({ ...changed, change: 'key_removed', keyId: replacedKeyId });
      }
      await record(operator, ...events);
      return { client: view(client), secureKey, keyId, replacedKeyId };
    },

    /**
     * Removes one of several secure keys or public keys, and revokes the tokens issued with it. Also
     * revokes the kept tokens of a key that was removed before.
     */
    async remove(
      operator: Operator,
      clientId: string,
      keyId: string,
      input: KeyRemoval = {},
    ): Promise<ClientView> {
      const { keepTokens: kept, revoke } = parseInput(keyRemoval, input);
      if (kept && revoke) {
        throw invalidInput('revoke', 'cannot be combined with keepTokens');
      }
      await findRecordedClient(clientId, identity);
      let client = await clients.removeKey(clientId, keyId, { keepTokens: kept });
      const changed = { event: 'client_changed', clientId } as const;
      await record(operator, { ...changed, change: 'key_removed', keyId });
      if (revoke) {
        client = await revocations.client(clientId);
        await record(operator, { ...changed, change: 'revoked' });
      }
      return view(client);
    },
  };
}
