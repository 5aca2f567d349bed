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

/** A revocation of the tokens of a user, who authorized the application of the party. */
function ofUser(
  name: string,
  rounds: number,
  revocationOf: (
    tier: Tier,
    party: Party,
    refreshToken: string,
  ) => Promise<() => Promise<unknown>> | (() => Promise<unknown>),
): RevocationKind {
  return {
    name,
    rounds,
    async prepare(tier, party, index) {
      const { access, refresh } = await tier.userTokens(party, index);
      const revoke = await revocationOf(tier, party, refresh);
      return { credentials: [bearer(access)], revoke };
    },
  };
}

/** A command of operators that revokes the tokens of a client, and perhaps its signatures. */
function ofClient(command: string, rounds: number, revokesSignatures = false): RevocationKind {
  return {
    name: command.replace(' NAME', ''),
    rounds,
    prepare: async (tier, party) => ({
      credentials: await credentialsOf(tier, party, revokesSignatures),
      revoke: () => tier.operator([...command.replace('NAME', party.clientId).split(' '), '--yes']),
    }),
  };
}

async function credentialsOf(tier: Tier, party: Party, revokesSignatures: boolean) {
  const tokens = [bearer(await tier.machineToken(party)), xAccess(await tier.xAccessToken(party))];
  return revokesSignatures ? [...tokens, signature(party)] : tokens;
}

const signOut = '/account/sign-out-everywhere';

/**
 * The order matters: revocations that disable a user or client are last among those that use it.
 */
export const revocationKinds: readonly RevocationKind[] = [
  {
    name: 'POST /revoke of an access token',
    rounds: MANY,
    async prepare(tier, party) {
      const token = await tier.machineToken(party);
      return { credentials: [bearer(token)], revoke: () => tier.post(party, '/revoke', { token }) };
    },
  },
  ofUser(
    'POST /revoke of a refresh token',
    SOME,
    (tier, party, token) => () => tier.post(party, '/revoke', { token }),
  ),
  ofUser(
    'tokens revoke',
    SOME,
    (tier, _party, token) => () => tier.operator(['tokens', 'revoke', '--yes'], `${token}\n`),
  ),
  ofUser('an application removed on the account page', SOME, (tier, party) =>
    tier.prepareAccountForm(party, '/account/revoke'),
  ),
  ofUser('sign out everywhere on the account page', FEW, (tier, party) =>
    tier.prepareAccountForm(party, signOut, signOut),
  ),
  ...['tokens revoke --user', 'users change --disable'].map((command) =>
    ofUser(
      command,
      SOME,
      (tier, { username }) =>
        () =>
          tier.operator([...command.split(' '), username, '--yes']),
    ),
  ),
  {
    name: 'clients remove-key',
    rounds: SOME,
    async prepare(tier, party) {
      const credentials = await credentialsOf(tier, party, true);
      const rotated = await tier.operator(['clients', 'rotate-key', party.clientId, '--json']);
      const keys: readonly { keyId: string }[] = rotated.client.keys;
      const removed = keys.find(({ keyId }) => keyId !== rotated.keyId)?.keyId ?? '';
      party.secureKey = rotated.secureKey;
      const words = ['clients', 'remove-key', party.clientId, removed, '--yes'];
      return { credentials, revoke: () => tier.operator(words) };
    },
  },
  ofClient('tokens revoke --client NAME', SOME),
  ofClient('tokens revoke --all', FEW),
  ofClient('clients change --disable NAME', SOME, true),
];
