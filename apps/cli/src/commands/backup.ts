import { dirname, join } from 'node:path';
import {
  type AuditEvent,
  identityVariables,
  loadMasterKey,
  masterKeyId,
  RejectedChangeError,
} from '@gatehouse/identity';
import {
  ConfigurationError,
  commonVariables,
  type Environment,
  parseEnvironment,
} from '@gatehouse/server/configuration';
import { parseStoreUrl } from '@gatehouse/store';
import { z } from 'zod';
import { createBackup } from '../backup/create-backup.ts';
import { readManifest } from '../backup/manifest.ts';
import { type Revocations, readRevocations } from '../backup/read-revocations.ts';
import { type Replayed, replayRevocations } from '../backup/replay-revocations.ts';
import { type RestoreTarget, restoreBackup } from '../backup/restore-backup.ts';
import { callerPath } from '../command-line/caller-path.ts';
import { type Command, text, UsageError } from '../command-line/command.ts';
import { recordChange } from '../record-change.ts';
import { assertConfirmed, yesOption } from './assert-confirmed.ts';
import { readTime } from './read-time.ts';

const guide = 'See docs/operations/back-up-and-restore.md.';
const noDevices =
  'Devices are not part of this backup. If they are in PostgreSQL, save and restore them with its tools.';
const variables = z.object({ DATA_DIR: commonVariables.DATA_DIR, ...identityVariables });

const backup: Command = {
  name: 'backup',
  summary: 'Copy the embedded databases into a new folder, while the servers run.',
  positionals: ['folder'],
  notes: [
    'The master key is not part of the backup. Keep a copy of the key file elsewhere.',
    guide,
  ],
  async run({ positionals }, { settings, environment, now, warn }) {
    if (!settings.embedded) {
      throw new RejectedChangeError(`With STORE_URL, use the commands of your store. ${guide}`);
    }
    const location = parseStoreUrl(settings.storeUrl);
    const folder = callerPath(positionals.folder ?? '', environment);
    const dataDirectory = location.engine === 'sqlite' ? dirname(location.path) : '';
    const manifest = await createBackup(folder, {
      dataDirectory,
      masterKeyIds() {
        settings.masterKey.refresh();
        return settings.masterKey.keys().map(masterKeyId);
      },
      now: now(),
    });
    const { createdAt, masterKeyIds, sha256 } = manifest;
    if (environment.DATABASE_URL || environment.DATABASE_URL_FILE) {
      warn(
        `DATABASE_URL is set: devices are not part of this backup. Save PostgreSQL with pg_dump. ${guide}`,
      );
    } else if (sha256['devices.sqlite'] === undefined) {
      warn(`${dataDirectory} has no devices.sqlite. ${noDevices}`);
    }
    return {
      json: { folder, ...manifest },
      text: [
        `Saved ${Object.keys(sha256).join(' and ')} in ${folder}, as of ${createdAt}.`,
        `To restore it, you also need the key file with the master key ${masterKeyIds.join(' and ')}.`,
      ].join('\n'),
    };
  },
};

const auditOption = {
  type: 'string',
  description: 'An audit export that goes beyond the backup. Its revocations are repeated.',
} as const;

const hashOption = {
  type: 'string',
  description:
    'A hash of a line of the export, kept elsewhere. Shows that its end was not removed.',
} as const;

const restore: Command = {
  name: 'restore',
  summary: 'Restore a backup into a data directory without databases, and revoke everything.',
  positionals: ['folder'],
  options: { audit: auditOption, hash: hashOption },
  notes: ['Stop the servers first. Copy the key file to the data directory.', guide],
  async runOffline({ positionals, options }, { environment, now, warn }) {
    const target = readTarget(environment);
    const folder = callerPath(positionals.folder ?? '', environment);
    const manifest = readManifest(folder);
    if (manifest.sha256['devices.sqlite'] === undefined) {
      warn(`${folder} has no devices.sqlite. ${noDevices}`);
    }
    const file = text(options.audit);
    const found =
      file === undefined ? undefined : await read(file, text(options.hash), environment);
    warnIfOld(found, manifest.createdAt, warn);
    const replayed = await restoreBackup({ folder, manifest }, target, async (identity) => {
      const audit = (event: AuditEvent) => recordChange(event, identity, environment);
      await audit({ event: 'everything_revoked' });
      return found && replayRevocations(found.entries, manifest.createdAt, { identity, audit });
    });
    return {
      json: {
        restored: manifest.createdAt,
        restoredAt: new Date(now()).toISOString(),
        exportEndsAt: found?.newest,
        replayed,
      },
      text: [
        `Restored the backup of ${manifest.createdAt}, and revoked everything issued so far.`,
        ...(replayed === undefined || found === undefined
          ? [
              'Clients and users are as in the backup. Before you start the servers, repeat what',
              'operators and users changed after it: disabled clients and users, removed keys, passwords.',
            ]
          : describeReplay(replayed, found)),
      ].join('\n'),
    };
  },
};

const replay: Command = {
  name: 'revoke replay',
  summary: 'Repeat the revocations of an audit export in a restored store.',
  positionals: ['file'],
  options: {
    since: { type: 'string', description: 'The time of the backup. Earlier entries are ignored.' },
    hash: hashOption,
    ...yesOption,
  },
  notes: ['Disables clients and users, and removes keys. Reads /dev/stdin, too.', guide],
  async run(input, context) {
    const { environment, now } = context;
    const since = readTime('since', text(input.options.since), now());
    if (since === undefined) {
      throw new UsageError('--since is required.');
    }
    const file = input.positionals.file ?? '';
    const found = await read(file, text(input.options.hash), environment);
    warnIfOld(found, since, context.warn);
    await assertConfirmed(
      input,
      context,
      `This repeats all revocations since ${since}, and disables every user whose password was changed since then. Continue?`,
    );
    const replayed = await replayRevocations(found.entries, since, context);
    return {
      json: { ...replayed, exportEndsAt: found.newest },
      text: describeReplay(replayed, found).join('\n'),
    };
  },
};

function readTarget(environment: Environment): RestoreTarget {
  const { DATA_DIR, STORE_URL, MASTER_KEY_FILE } = parseEnvironment(variables, environment);
  if (STORE_URL !== undefined) {
    throw new RejectedChangeError(`With STORE_URL, use the commands of your store. ${guide}`);
  }
  const path = MASTER_KEY_FILE ?? join(DATA_DIR, 'master.key');
  try {
    return {
      dataDirectory: DATA_DIR,
      masterKeyFile: path,
      masterKey: loadMasterKey(path, false),
    };
  } catch (error) {
    if (MASTER_KEY_FILE === undefined && error instanceof ConfigurationError) {
      throw new RejectedChangeError(
        `${path} does not exist or is not a key file. Copy the key file of the backup there.`,
      );
    }
    throw error;
  }
}

async function read(
  file: string,
  hash: string | undefined,
  environment: Environment,
): Promise<Revocations> {
  return readRevocations(callerPath(file, environment), hash);
}

function warnIfOld(
  found: Revocations | undefined,
  since: string,
  warn: (message: string) => void,
): void {
  if (found !== undefined && found.newest < since) {
    warn(
      `The audit export ends at ${found.newest}, before the backup of ${since}. Later revocations are missing.`,
    );
  }
}

function describeReplay({ changed, repeat }: Replayed, { newest }: Revocations): readonly string[] {
  return [
    ...(changed.length === 0 ? ['The export contains no other revocations.'] : changed),
    `The export ends at ${newest}. Repeat later changes yourself.`,
    ...(repeat.length === 0 ? [] : ['To do:', ...repeat.map((each) => `  ${each}`)]),
  ];
}

export const backupCommands: readonly Command[] = [backup, restore, replay];
