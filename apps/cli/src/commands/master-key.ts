import { setTimeout as sleep } from 'node:timers/promises';
import { createMasterKeyRotation, type MasterKeyUse } from '@gatehouse/identity';
import type { Command, CommandContext } from '../command-line/command.ts';
import { assertConfirmed, yesOption } from './assert-confirmed.ts';

const guide = 'See docs/operations/secrets.md#rotate-the-master-key.';

function rotationOf({ identity, settings, now }: CommandContext) {
  const { masterKey, masterKeyFile: path } = settings;
  return createMasterKeyRotation({ identity, masterKey, path, wait: sleep, now });
}

const add: Command = {
  name: 'master-key add',
  summary: 'Add the next master key to the key file, to copy it to other hosts first.',
  notes: ['Nothing is encrypted with it until gatehouse master-key rotate.', guide],
  async run(_input, context) {
    const keyId = await rotationOf(context).add();
    await context.audit({ event: 'master_key_changed', change: 'added', keyId });
    return {
      json: { keyId },
      text: `Added the key ${keyId}. Copy the key file to every host, then run gatehouse master-key rotate.`,
    };
  },
};

const rotate: Command = {
  name: 'master-key rotate',
  summary: 'Replace the master key and encrypt every record again, while the servers run.',
  options: yesOption,
  notes: ['If it was interrupted, run it again. It continues with the same key.', guide],
  async run(input, context) {
    await assertConfirmed(
      input,
      context,
      'This replaces the master key. Have you backed up the key file?',
    );
    const { keyId, isNewKey, changedRecords } = await rotationOf(context).rotate();
    const change = isNewKey ? 'rotated' : 'continued';
    await context.audit({ event: 'master_key_changed', change, keyId });
    const outcome = isNewKey
      ? `The master key is now ${keyId}.`
      : `Continued the last rotation, to the key ${keyId}. No new key was made.`;
    return {
      json: { keyId, isNewKey, changedRecords },
      text: `${outcome} Encrypted ${changedRecords} records again. In an hour, run gatehouse master-key retire.`,
    };
  },
};

const check: Command = {
  name: 'master-key check',
  summary: 'Count the records that need the previous master key. Exits with 1 if there are any.',
  notes: [guide],
  async run(_input, context) {
    const use = await rotationOf(context).check();
    return {
      json: use,
      text: describeUse(use),
      isFailure: Object.keys({ ...use.needPrevious, ...use.damaged }).length > 0,
    };
  },
};

const retire: Command = {
  name: 'master-key retire',
  summary: 'Remove the previous master key from the key file, if nothing needs it.',
  options: yesOption,
  notes: [guide],
  async run(input, context) {
    await assertConfirmed(
      input,
      context,
      'The previous key will no longer decrypt anything. Continue?',
    );
    const { keyId } = await rotationOf(context).retire();
    await context.audit({ event: 'master_key_changed', change: 'retired', keyId });
    return {
      json: { keyId },
      text: `Removed the previous key. Only the key ${keyId} is left.`,
    };
  },
};

function describeUse(use: MasterKeyUse): string {
  const { keyId, nextKeyId, previousKeyId, retirableAt } = use;
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([kind, count]) => `${kind}: ${count}`)
      .join(', ') || 'none';
  return [
    `Key: ${keyId}`,
    ...(nextKeyId === undefined ? [] : [`Next key: ${nextKeyId}`]),
    ...(previousKeyId === undefined ? [] : [`Previous key: ${previousKeyId}`]),
    `Records that need the previous key: ${counted(use.needPrevious)}`,
    `Records that no key decrypts: ${counted(use.damaged)}`,
    ...(retirableAt === undefined || Number.isNaN(retirableAt)
      ? []
      : [`The previous key can be removed at: ${new Date(retirableAt).toISOString()}`]),
  ].join('\n');
}

export const masterKeyCommands: readonly Command[] = [add, rotate, check, retire];
