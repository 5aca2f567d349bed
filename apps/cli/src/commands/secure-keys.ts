import { type Command, flag, type Option, UsageError } from '../command.ts';
import { viewClient } from './clients.ts';

const keepTokens: Option = {
  type: 'boolean',
  description:
    'For a planned change: tokens issued with the removed key stay valid until they expire.',
};

/** What removing a key means for the tokens that were issued with it. */
function fateOfTokens(keyId: string, kept: boolean): string {
  return kept
    ? `Tokens that were issued with ${keyId} stay valid until they expire.`
    : `Tokens that were issued with ${keyId} are revoked: access tokens, X-Access-Tokens and refresh tokens.`;
}

const rotateKey: Command = {
  name: 'clients rotate-key',
  summary: 'Give a client a new secureKey, shown once. The one it has stays valid.',
  positionals: ['clientId'],
  options: {
    'replace-oldest': {
      type: 'boolean',
      description: 'If two keys are active, remove the older one and revoke its tokens.',
    },
    'keep-tokens': keepTokens,
  },
  async run({ positionals: { clientId = '' }, options }, { identity, audit }) {
    const replaceOldest = flag(options['replace-oldest']) === true;
    const kept = flag(options['keep-tokens']) === true;
    if (kept && !replaceOldest) {
      throw new UsageError('--keep-tokens needs --replace-oldest: without it, no key is removed.', [
        'clients rotate-key --help',
      ]);
    }
    const rotated = await identity.clients.rotateKey(clientId, { replaceOldest, keepTokens: kept });
    const { client, secureKey, keyId, replacedKeyId } = rotated;
    await audit({ event: 'client_changed', clientId, change: 'key_added', keyId });
    if (replacedKeyId !== undefined) {
      await audit({
        event: 'client_changed',
        clientId,
        change: 'key_removed',
        keyId: replacedKeyId,
      });
    }
    return {
      json: { client: viewClient(client, identity), secureKey, keyId, replacedKeyId },
      text: [
        `The client ${clientId} has a new key, ${keyId}.`,
        `secureKey (shown once): ${secureKey}`,
        ...(replacedKeyId === undefined
          ? []
          : [`The key ${replacedKeyId} is no longer valid.`, fateOfTokens(replacedKeyId, kept)]),
      ].join('\n'),
    };
  },
};

const removeKey: Command = {
  name: 'clients remove-key',
  summary:
    'Remove one of two secureKeys of a client for good, and revoke the tokens issued with it.',
  positionals: ['clientId', 'keyId'],
  options: {
    'keep-tokens': keepTokens,
    revoke: {
      type: 'boolean',
      description: 'Also revoke every other token of the client, whichever key it was issued with.',
    },
  },
  notes: [
    'gatehouse clients show lists the keys.',
    'Removing a key whose tokens were kept revokes them.',
  ],
  async run({ positionals: { clientId = '', keyId = '' }, options }, { identity, audit }) {
    const kept = flag(options['keep-tokens']) === true;
    const revoked = flag(options.revoke) === true;
    if (kept && revoked) {
      throw new UsageError('Use either --keep-tokens or --revoke.', ['clients remove-key --help']);
    }
    let client = await identity.clients.removeKey(clientId, keyId, { keepTokens: kept });
    await audit({ event: 'client_changed', clientId, change: 'key_removed', keyId });
    if (revoked) {
      client = await identity.revocations.client(clientId);
      await audit({ event: 'client_changed', clientId, change: 'revoked' });
    }
    return {
      json: { client: viewClient(client, identity), tokensKept: kept },
      text: [
        `The client ${clientId} no longer has the key ${keyId}.`,
        revoked ? `Everything the client was given so far is revoked.` : fateOfTokens(keyId, kept),
      ].join('\n'),
    };
  },
};

export const secureKeyCommands: readonly Command[] = [rotateKey, removeKey];
