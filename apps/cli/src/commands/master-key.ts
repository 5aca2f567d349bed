import { setTimeout as sleep } from 'node:timers/promises';
import { createMasterKeyRotation, type MasterKeyRotation } from '@gatehouse/identity';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandResult,
  flag,
  UsageError,
} from '../command-line/command.ts';
import { assertConfirmed, yesOption } from '../command-line/terminal.ts';

const rotate: Command = {
  usage: 'master-key rotate',
  summary: 'Replace the master key and encrypt every record again, while the servers run.',
  options: {
    prepare: { description: 'Only add the next key to the file, to copy it to other hosts.' },
    check: { description: 'Only count the records that need the previous key. Exits with 1.' },
    finish: { description: 'Remove the previous key from the key file, if nothing needs it.' },
    ...yesOption,
  },
  notes: [
    'With several hosts: --prepare, copy the key file to every host, rotate, and an hour later --finish.',
    'If it was interrupted, run it again. It continues with the same key.',
    'See docs/operations/secrets.md#rotate-the-master-key.',
  ],
  example: '--finish',
  run(input, context) {
    const { identity, settings, now } = context;
    const { masterKey, masterKeyFile: path } = settings;
    const rotation = createMasterKeyRotation({ identity, masterKey, path, wait: sleep, now });
    const steps = { prepare, check, finish };
    const named = Object.entries(steps).filter(([name]) => flag(input.options[name]) === true);
    if (named.length > 1) {
      throw new UsageError('Use only one of --prepare, --check and --finish.');
    }
    const [, step = replace] = named[0] ?? [];
    return step({ rotation, input, context });
  },
};

interface Call {
  readonly rotation: MasterKeyRotation;
  readonly input: CommandInput;
  readonly context: CommandContext;
}

async function prepare({ rotation, context }: Call): Promise<CommandResult> {
  const keyId = await rotation.add();
  await context.audit({ event: 'master_key_changed', change: 'added', keyId });
  const text = `Added the key ${keyId}. Copy the key file to every host, then run gatehouse master-key rotate.`;
  return { json: { keyId }, text };
}

async function replace({ rotation, input, context }: Call): Promise<CommandResult> {
  const question = 'This replaces the master key. Have you backed up the key file?';
  await assertConfirmed(input, context, question);
  const rotated = await rotation.rotate();
  const { keyId, isNewKey, changedRecords } = rotated;
  const change = isNewKey ? 'rotated' : 'continued';
  await context.audit({ event: 'master_key_changed', change, keyId });
  const outcome = isNewKey
    ? `The master key is now ${keyId}.`
    : `Continued the last rotation, to the key ${keyId}. No new key was made.`;
  const text = `${outcome} Encrypted ${changedRecords} records again. In an hour, run gatehouse master-key rotate --finish.`;
  return { json: rotated, text };
}

async function check({ rotation }: Call): Promise<CommandResult> {
  const use = await rotation.check();
  const { keyId, nextKeyId = 'none', previousKeyId = 'none', retirableAt = Number.NaN } = use;
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([kind, count]) => `${kind}: ${count}`)
      .join(', ') || 'none';
  const lines = [
    `Key: ${keyId}. Next key: ${nextKeyId}. Previous key: ${previousKeyId}.`,
    `Records that need the previous key: ${counted(use.needPrevious)}`,
    `Records that no key decrypts: ${counted(use.damaged)}`,
    ...(Number.isNaN(retirableAt)
      ? []
      : [`The previous key can be removed at: ${new Date(retirableAt).toISOString()}`]),
  ];
  const isFailure = Object.keys({ ...use.needPrevious, ...use.damaged }).length > 0;
  return { json: use, text: lines.join('\n'), isFailure };
}

async function finish({ rotation, input, context }: Call): Promise<CommandResult> {
  const question = 'The previous key will no longer decrypt anything. Continue?';
  await assertConfirmed(input, context, question);
  const { keyId } = await rotation.retire();
  await context.audit({ event: 'master_key_changed', change: 'retired', keyId });
  return { json: { keyId }, text: `Removed the previous key. Only the key ${keyId} is left.` };
}

export const masterKeyCommands: readonly Command[] = [rotate];
