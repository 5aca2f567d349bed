import { type Command, flag } from '../command.ts';
import { viewClient } from './clients.ts';

const rotateKey: Command = {
  name: 'clients rotate-key',
  summary: 'Give a client a new secureKey, shown once. The one it has stays valid.',
  positionals: ['clientId'],
  options: {
    'replace-oldest': {
      type: 'boolean',
      description: 'Where two are active, end the older one.',
    },
  },
  async run({ positionals: { clientId = '' }, options }, { identity, audit }) {
    const replaceOldest = flag(options['replace-oldest']) === true;
    const rotated = await identity.clients.rotateKey(clientId, { replaceOldest });
    const { client, secureKey, keyId } = rotated;
    await audit({ event: 'client_changed', clientId, change: 'key_added', keyId });
    return {
      json: { client: viewClient(client, identity), secureKey, keyId },
      text: [
        `The client ${clientId} has a new key, ${keyId}.`,
        `secureKey (shown once): ${secureKey}`,
      ].join('\n'),
    };
  },
};

const removeKey: Command = {
  name: 'clients remove-key',
  summary: 'End one of two secureKeys of a client for good.',
  positionals: ['clientId', 'keyId'],
  options: {
    revoke: {
      type: 'boolean',
      description: 'Also end every token the client has, with whichever key it was made.',
    },
  },
  notes: ['gatehouse clients show names the keys. Without --revoke, tokens made with it live on.'],
  async run({ positionals: { clientId = '', keyId = '' }, options }, { identity, audit }) {
    let client = await identity.clients.removeKey(clientId, keyId);
    await audit({ event: 'client_changed', clientId, change: 'key_removed', keyId });
    if (flag(options.revoke) === true) {
      client = await identity.revocations.client(clientId);
      await audit({ event: 'client_changed', clientId, change: 'revoked' });
    }
    return {
      json: { client: viewClient(client, identity) },
      text: `The client ${clientId} no longer has the key ${keyId}.`,
    };
  },
};

export const secureKeyCommands: readonly Command[] = [rotateKey, removeKey];
