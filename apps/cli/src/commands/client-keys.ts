import type { Command, Options } from '../command-line/command.ts';
import { lines } from '../command-line/format.ts';
import { yesOption } from '../command-line/terminal.ts';
import { shownClient } from './clients.ts';

const keepTokensOption: Options = {
  'keep-tokens': 'Keep tokens of the removed key valid until they expire. For planned changes.',
};

function describeTokens(keyId: string, kept: boolean): string {
  return kept
    ? `Tokens issued with ${keyId} stay valid until they expire.`
    : `Tokens issued with ${keyId} are revoked: access tokens, X-Access-Tokens and refresh tokens.`;
}

const rotateKey: Command = {
  usage: 'clients rotate-key <clientId>',
  summary: 'Create a new secure key for a client and print it once. The existing key stays valid.',
  options: {
    'replace-oldest': 'Remove the older of two keys, and revoke its tokens.',
    ...keepTokensOption,
  },
  example: 'backend --replace-oldest',
  async run({ positionals: { clientId = '' }, options }, { operators, operator }) {
    const kept = options.keepTokens === true;
    const replaceOldest = options.replaceOldest === true;
    const rotation = { replaceOldest, keepTokens: kept };
    const rotated = await operators.clientKeys.rotate(operator, clientId, rotation);
    const { client, secureKey, keyId, replacedKeyId } = rotated;
    return {
      json: { client: shownClient(client), secureKey, keyId, replacedKeyId },
      text: lines(
        `The client ${clientId} has a new key, ${keyId}.`,
        `Secure key (shown once): ${secureKey}`,
        replacedKeyId && `The key ${replacedKeyId} is no longer valid.`,
        replacedKeyId && describeTokens(replacedKeyId, kept),
      ),
    };
  },
};

const removeKey: Command = {
  usage: 'clients remove-key <clientId> <keyId>',
  summary: 'Delete one of two secure keys of a client, and revoke the tokens issued with it.',
  options: {
    ...yesOption,
    ...keepTokensOption,
    revoke: 'Also revoke every other token of the client.',
  },
  notes: [
    'To list the keys, run gatehouse clients show.',
    'If the key was removed with --keep-tokens before, this revokes its tokens.',
  ],
  example: 'backend 3f9c21ab',
  async run({ positionals, options }, { operators, operator, confirm }) {
    const { clientId = '', keyId = '' } = positionals;
    const kept = options.keepTokens === true;
    const revoked = options.revoke === true;
    await confirm(`This deletes the secure key ${keyId} of ${clientId}. Continue?`);
    const removal = { keepTokens: kept, revoke: revoked };
    const client = await operators.clientKeys.remove(operator, clientId, keyId, removal);
    return {
      json: { client: shownClient(client), tokensKept: kept },
      text: lines(
        `The client ${clientId} no longer has the key ${keyId}.`,
        revoked ? 'Revoked everything issued to the client so far.' : describeTokens(keyId, kept),
      ),
    };
  },
};

export const clientKeyCommands: readonly Command[] = [rotateKey, removeKey];
