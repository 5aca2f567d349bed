import { finishMasterKeyRotation, rotateMasterKey } from '@gatehouse/identity';
import type { Command } from '../command-line/command.ts';
import { yesOption } from '../command-line/terminal.ts';

export const masterKeyCommand: Command = {
  usage: 'master-key rotate',
  summary: 'Replace the master key and encrypt every record again, while the servers run.',
  options: {
    finish: 'Remove the previous key from the key file, if nothing needs it.',
    ...yesOption,
  },
  notes: [
    'Run it twice: the first run adds a key that only decrypts, so that you can copy the key file to',
    'every host. The second run encrypts with it. An hour later, run it with --finish.',
    'If it was interrupted and the key file has a line that begins with "next", copy the file to every',
    'host. Then run it again. It continues with the same key.',
    'See docs/operations/secrets.md#rotate-the-master-key.',
  ],
  example: '--finish',
  async run({ options }, { identity, settings, audit, confirm }) {
    const rotation = { identity, path: settings.masterKeyFile };
    if (options.finish === true) {
      await confirm('The previous key will no longer decrypt anything. Continue?');
      const keyId = await finishMasterKeyRotation(rotation);
      await audit({ event: 'master_key_changed', change: 'retired', keyId });
      return { json: { keyId }, text: `Removed the previous key. Only the key ${keyId} is left.` };
    }
    await confirm('This changes the key file. Does every host have it, and a backup?');
    const { change, keyId, changedRecords } = await rotateMasterKey(rotation);
    await audit({ event: 'master_key_changed', change, keyId });
    const encrypted = `Encrypted ${changedRecords} records again. In an hour, run gatehouse master-key rotate --finish.`;
    const texts = {
      added: `Added the key ${keyId}. Copy the key file to every host, then run gatehouse master-key rotate again.`,
      rotated: `The master key is now ${keyId}. ${encrypted}`,
      continued: `Continued the last rotation, to the key ${keyId}. No new key was made. ${encrypted}`,
    };
    return { json: { change, keyId, changedRecords }, text: texts[change] };
  },
};
