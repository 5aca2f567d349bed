import type { Command } from '../command-line/command.ts';
import { formatTable, formatTime, formatUse, rowsOf } from '../command-line/format.ts';
import { shownClient } from './clients.ts';

export const showClientCommand: Command = {
  usage: 'clients show <clientId>',
  summary: 'Show the settings of a client, the ids of its keys, and when they were last used.',
  example: 'backend',
  async run({ positionals: { clientId = '' } }, { operators }) {
    const { client, lastUse } = await operators.clients.read(clientId);
    const described = shownClient(client);
    const used = (keyId: string) => `  last used ${formatUse(lastUse.keys[keyId])}`;
    const { keys, keptKeyIds, publicKeyIds: publicIds, notBefore, ...others } = described;
    const { jwks: _keys, ...settings } = others;
    return {
      json: { client: described, lastUse },
      text: formatTable([
        ...rowsOf(settings),
        ['last use', formatUse(lastUse.at)],
        ['revoked before', notBefore === 0 ? 'never' : formatTime(notBefore)],
        ...keys.map(({ keyId, createdAt }) => [
          'key',
          `${keyId}  created ${formatTime(createdAt)}${used(keyId)}`,
        ]),
        ...publicIds.map((keyId) => ['public key', keyId + used(keyId)]),
        ...keptKeyIds.map((keyId) => ['removed key', `${keyId}  its tokens are still valid`]),
      ]),
    };
  },
};
