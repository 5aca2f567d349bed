/** The signing keys of the servers and their schedule. Each successor is published before it signs. */
import { type SigningKeyPolicy, type SigningPurpose, signingPurposes } from '@gatehouse/identity';
import { z } from 'zod';
import { type Dependencies, type Operator, OperatorError, parseInput } from './operator.ts';

export const signingPurpose = z.enum(signingPurposes);

/** A signing key. Times are epoch seconds. */
export const signingKeyView = z.object({
  purpose: signingPurpose,
  kid: z.string(),
  algorithm: z.string(),
  createdAt: z.number(),
  /** `published` will sign. `retired` still verifies tokens. */
  state: z.enum(['published', 'signing', 'retired']),
  /** The latest time at which its successor signs. */
  signsUntil: z.number(),
  /** Undefined before there is a successor. */
  deletedAt: z.number().optional(),
});
export type SigningKeyView = Readonly<z.output<typeof signingKeyView>>;

export function createSigningKeyActs(
  { identity, record }: Dependencies,
  policy: SigningKeyPolicy | undefined,
) {
  async function listOf(purpose: SigningPurpose): Promise<readonly SigningKeyView[]> {
    const keys = await identity.describeSigningKeys(purpose, policy);
    return keys.map((key) => ({ purpose, ...key }));
  }

  return {
    /** Newest first. A server that never ran has none. */
    list: async (): Promise<readonly SigningKeyView[]> =>
      (await Promise.all(signingPurposes.map(listOf))).flat(),

    /** Publishes a successor of the key that signs now. */
    async rotate(operator: Operator, wanted: SigningPurpose): Promise<readonly SigningKeyView[]> {
      const purpose = parseInput(signingPurpose, wanted);
      const isMade = await identity.rotateSigningKeys(purpose, policy);
      const keys = await listOf(purpose);
      const [newest] = keys;
      if (newest === undefined || !isMade) {
        throw new OperatorError(
          'conflict',
          `The newest key, ${newest?.kid}, is so young that not every verifier may have loaded it. Rotate again later.`,
        );
      }
      await record(operator, { event: 'signing_key_made', purpose, kid: newest.kid });
      return keys;
    },
  };
}
