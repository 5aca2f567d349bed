/** Tokens and everything that was issued: find a token, preview a revocation, revoke. */
import type { Identity } from '@gatehouse/identity';
import { z } from 'zod';
import { findClient, findRecordedClient } from './clients.ts';
import { type Dependencies, type Operator, orNotFound, parseInput } from './operator.ts';
import { findUser } from './users.ts';

/** A token or code by its value or reference, everything of a client or a user, or everything. */
export const revocationTarget = z.union([
  z.strictObject({ token: z.string().min(1).max(16_384) }),
  z.strictObject({ reference: z.string().min(1).max(4096) }),
  z.strictObject({ clientId: z.string().max(300) }),
  z.strictObject({ userId: z.string().max(128) }),
  z.strictObject({ all: z.literal(true) }),
]);
export type RevocationTarget = z.input<typeof revocationTarget>;

/** A token or code. Its value is in none of the members. Times are epoch seconds. */
export const tokenView = z.object({
  kind: z.string(),
  /** It names the token in the audit trail. */
  tokenId: z.string(),
  /** Selects the token for `find` and `revoke`. It cannot be used as a credential. */
  reference: z.string(),
  state: z.enum(['active', 'revoked', 'expired']),
  clientId: z.string().optional(),
  userId: z.string().optional(),
  grantId: z.string().optional(),
  scopes: z.array(z.string()),
  /** Undefined: the device API. */
  resource: z.string().optional(),
  /** The key that the client authenticated with. */
  keyId: z.string().optional(),
  issuedAt: z.number(),
  expiresAt: z.number().optional(),
});
export type TokenView = Readonly<z.output<typeof tokenView>>;

/** What a revocation ends. An absent number is unknown. */
export const revocationEffect = z.object({
  /** Tokens, codes and grants. Some may have been revoked before. */
  tokens: z.number().optional(),
  sessions: z.number().optional(),
  clientIds: z.array(z.string()).optional(),
  /** With `all`: how many there are. */
  clients: z.number().optional(),
  users: z.number().optional(),
});
export type RevocationEffect = Readonly<z.output<typeof revocationEffect>>;

const UNKNOWN =
  'Unknown token. It has expired, is already revoked, or belongs to another installation.';

export function createTokenActs({ identity, now, record }: Dependencies) {
  const { revocations } = identity;
  return {
    /** @param name the value of the token, which is hashed at once, or its reference */
    async find(name: string | { readonly reference: string }): Promise<TokenView> {
      const found = orNotFound(await revocations.find(name), UNKNOWN);
      const { isRevoked, tokenIds, scope = '', ...members } = found;
      const isExpired = (members.expiresAt ?? Number.POSITIVE_INFINITY) * 1000 <= now();
      const state = isExpired ? 'expired' : isRevoked ? 'revoked' : 'active';
      const scopes = scope.split(' ').filter(Boolean);
      return { ...members, tokenId: tokenIds[0] ?? '', state, scopes };
    },

    previewRevocation: async (target: RevocationTarget): Promise<RevocationEffect> =>
      effectOf(parseInput(revocationTarget, target), identity),

    /** @returns what ended, as the preview of the same moment */
    async revoke(operator: Operator, input: RevocationTarget): Promise<RevocationEffect> {
      const target = parseInput(revocationTarget, input);
      const effect = await effectOf(target, identity);
      if ('token' in target || 'reference' in target) {
        const revoked = orNotFound(await revocations.token(nameOf(target)), UNKNOWN);
        await record(operator, { event: 'token_revoked', ...revoked });
      } else if ('clientId' in target) {
        const { clientId } = await findRecordedClient(target.clientId, identity);
        await revocations.client(clientId);
        await record(operator, { event: 'client_changed', clientId, change: 'revoked' });
        await revocations.deleteTokens(clientId);
      } else if ('userId' in target) {
        await revocations.user(target.userId);
        await record(operator, { event: 'user_changed', ...target, change: 'revoked' });
      } else {
        await revocations.everything();
        await record(operator, { event: 'everything_revoked' });
      }
      return effect;
    },
  };
}

const nameOf = (target: { readonly token: string } | { readonly reference: string }) =>
  'token' in target ? target.token : target;

async function effectOf(
  target: z.output<typeof revocationTarget>,
  identity: Identity,
): Promise<RevocationEffect> {
  const { revocations, removals, userSessions, store } = identity;
  if ('token' in target || 'reference' in target) {
    const { grantId, clientId } = orNotFound(await revocations.find(nameOf(target)), UNKNOWN);
    const tokens = grantId === undefined ? 1 : await revocations.countOfGrant(grantId);
    return { tokens: Math.max(1, tokens), clientIds: clientId === undefined ? [] : [clientId] };
  }
  if ('clientId' in target) {
    const { clientId } = await findClient(target.clientId, identity);
    return { tokens: await removals.countTokens(clientId), clientIds: [clientId] };
  }
  if ('userId' in target) {
    const { userId } = await findUser(target.userId, identity);
    const grants = await userSessions.grants(userId);
    const counts = await Promise.all(grants.map(({ id }) => revocations.countOfGrant(id)));
    return {
      tokens: counts.reduce((sum, count) => sum + count, 0),
      sessions: (await userSessions.sessions(userId)).length,
      clientIds: [...new Set(grants.map(({ clientId }) => clientId))],
    };
  }
  const [clients, users] = await Promise.all(['clients', 'users'].map((key) => store.members(key)));
  return { clients: clients?.length, users: users?.length };
}
