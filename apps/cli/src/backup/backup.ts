import { dirname, join } from 'node:path';
import { type AuditEvent, loadMasterKey, RejectedChangeError } from '@gatehouse/identity';
import { openOperators } from '@gatehouse/operators';
import {
  ConfigurationError,
  type Environment,
  parseEnvironment,
} from '@gatehouse/server/configuration';
import { hashOption } from '../audit/audit.ts';
import { describeReplay, readRevocations, replayRevocations } from '../audit/revocations.ts';
import { type Command, text } from '../command-line/command.ts';
import { operatorOf, variables } from '../open-identity-store.ts';
import { createBackup, readManifest } from './backup-folder.ts';
import { type RestoreTarget, restoreBackup } from './restore-backup.ts';

const guide = 'See docs/operations/back-up-and-restore.md.';
const noDevices =
  'Devices are not part of this backup. If they are in PostgreSQL, save and restore them with its tools.';

const create: Command = {
  usage: 'backup create <folder>',
  summary: 'Copy the embedded databases into a new folder, while the servers run.',
  notes: [
    'The master key is not part of the backup. Keep a copy of the key file elsewhere.',
    guide,
  ],
  example: '/backups/2026-11-24',
  async run({ positionals }, { settings, environment, terminal, warn }) {
    if (!settings.embedded) {
      throw new RejectedChangeError(`With STORE_URL, use the commands of your store. ${guide}`);
    }
    const folder = terminal.pathOf(positionals.folder ?? '');
    const dataDirectory = dirname(settings.storeUrl.replace('sqlite:', ''));
    const manifest = await createBackup(folder, dataDirectory, settings.masterKey);
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

const restore: Command = {
  usage: 'backup restore <folder>',
  summary: 'Restore a backup into a data directory without databases, and revoke everything.',
  options: {
    'audit <file>': 'An audit export that goes beyond the backup. Its revocations are repeated.',
    ...hashOption,
  },
  notes: ['Stop the servers first. Copy the key file to the data directory.', guide],
  example: '/backups/2026-11-24 --audit audit.ndjson',
  async runOffline({ positionals, options }, { environment, terminal, warn }) {
    const target = readTarget(environment);
    const folder = terminal.pathOf(positionals.folder ?? '');
    const manifest = readManifest(folder);
    if (manifest.sha256['devices.sqlite'] === undefined) {
      warn(`${folder} has no devices.sqlite. ${noDevices}`);
    }
    const file = text(options.audit);
    const since = manifest.createdAt;
    const found =
      file === undefined
        ? undefined
        : await readRevocations(terminal.pathOf(file), text(options.hash), since, warn);
    const replayed = await restoreBackup({ folder, manifest }, target, async (identity) => {
      const { record } = openOperators(identity);
      const audit = (event: AuditEvent) => record(operatorOf(environment), event);
      await audit({ event: 'everything_revoked' });
      return found && replayRevocations(found.entries, since, { identity, audit });
    });
    return {
      json: {
        restored: since,
        restoredAt: new Date().toISOString(),
        exportEndsAt: found?.newest,
        replayed,
      },
      text: [
        `Restored the backup of ${since}, and revoked everything issued so far.`,
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

export const backupCommands: readonly Command[] = [create, restore];
