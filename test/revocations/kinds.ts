import type { Credential } from './measure-refusal.ts';
import { bearer, type Party, signature, type Tier, xAccess } from './tier.ts';

/** The credentials that one revocation revokes, and how. */
export interface Revocation {
  readonly credentials: readonly Credential[];
  readonly revoke: () => Promise<unknown>;
}

export interface RevocationKind {
  readonly name: string;
  /** Fewer rounds for revocations that wait for a not-before to pass. */
  readonly rounds: number;
  /** Issues the credentials that are then revoked. */
  prepare(tier: Tier, party: Party, index: number): Promise<Revocation>;
}

const MANY = 30;
const SOME = 8;
const FEW = 4;

const grantKinds: readonly RevocationKind[] = [
  {
    name: 'POST /revoke of an access token',
    rounds: MANY,
    async prepare(tier, party) {
      const token = await tier.machineToken(party);
      return { credentials: [bearer(token)], revoke: () => tier.post(party, '/revoke', { token }) };
    },
  },
  {
    name: 'POST /revoke of a refresh token',
    rounds: SOME,
    async prepare(tier, party, index) {
      const { access, refresh } = await tier.userTokens(party, index);
      const revoke = () => tier.post(party, '/revoke', { token: refresh });
      return { credentials: [bearer(access)], revoke };
    },
  },
  {
    name: 'tokens revoke',
    rounds: SOME,
    async prepare(tier, party, index) {
      const { access, refresh } = await tier.userTokens(party, index);
      const revoke = () => tier.operator(['tokens', 'revoke', '--yes'], `${refresh}\n`);
      return { credentials: [bearer(access)], revoke };
    },
  },
  {
    name: 'an application removed on the account page',
    rounds: SOME,
    async prepare(tier, party, index) {
      const { access } = await tier.userTokens(party, index);
      const revoke = await tier.prepareAccountForm(party, '/account/revoke');
      return { credentials: [bearer(access)], revoke };
    },
  },
];

const userKinds: readonly RevocationKind[] = [
  userKind('tokens revoke --user'),
  {
    name: 'sign out everywhere on the account page',
    rounds: FEW,
    async prepare(tier, party, index) {
      const { access } = await tier.userTokens(party, index);
      const revoke = await tier.prepareAccountForm(
        party,
        '/account/sign-out-everywhere',
        '/account/sign-out-everywhere',
      );
      return { credentials: [bearer(access)], revoke };
    },
  },
  userKind('users change --disable'),
];

function userKind(command: string): RevocationKind {
  return {
    name: command,
    rounds: SOME,
    async prepare(tier, party, index) {
      const { access } = await tier.userTokens(party, index);
      const revoke = () => tier.operator([...command.split(' '), party.username, '--yes']);
      return { credentials: [bearer(access)], revoke };
    },
  };
}

const clientKinds: readonly RevocationKind[] = [
  {
    name: 'clients remove-key',
    rounds: SOME,
    async prepare(tier, party) {
      const credentials = [...(await tokensOfClient(tier, party)), signature(party)];
      const rotated = await tier.operator(['clients', 'rotate-key', party.clientId, '--json']);
      const keys: readonly { keyId: string }[] = rotated.client.keys;
      const removed = keys.find(({ keyId }) => keyId !== rotated.keyId)?.keyId ?? '';
      party.secureKey = rotated.secureKey;
      const words = ['clients', 'remove-key', party.clientId, removed, '--yes'];
      return { credentials, revoke: () => tier.operator(words) };
    },
  },
  {
    name: 'tokens revoke --client',
    rounds: SOME,
    prepare: async (tier, party) => ({
      credentials: await tokensOfClient(tier, party),
      revoke: () => tier.operator(['tokens', 'revoke', '--client', party.clientId, '--yes']),
    }),
  },
  {
    name: 'tokens revoke --all',
    rounds: FEW,
    prepare: async (tier, party) => ({
      credentials: await tokensOfClient(tier, party),
      revoke: () => tier.operator(['tokens', 'revoke', '--all', '--yes']),
    }),
  },
  {
    name: 'clients change --disable',
    rounds: SOME,
    prepare: async (tier, party) => ({
      credentials: [...(await tokensOfClient(tier, party)), signature(party)],
      revoke: () => tier.operator(['clients', 'change', '--disable', party.clientId, '--yes']),
    }),
  },
];

async function tokensOfClient(tier: Tier, party: Party): Promise<readonly Credential[]> {
  return [bearer(await tier.machineToken(party)), xAccess(await tier.xAccessToken(party))];
}

/**
 * The order matters: revocations that disable a user or client are last among those that use it.
 */
export const revocationKinds: readonly RevocationKind[] = [
  ...grantKinds,
  ...userKinds,
  ...clientKinds,
];
