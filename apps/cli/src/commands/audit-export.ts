import { MAXIMUM_AUDIT_ENTRIES } from '@gatehouse/identity';
import { exportToFile, exportToTerminal } from '../audit-export/export-target.ts';
import { followTrail, startOfOverlap, versionOf } from '../audit-export/follow-trail.ts';
import { readCompleteExport } from '../audit-export/read-complete-export.ts';
import { callerPath } from '../command-line/caller-path.ts';
import { type Command, flag, text } from '../command-line/command.ts';
import { fileError } from '../command-line/file-error.ts';
import { printable } from '../command-line/printable.ts';
import { readTime } from './read-time.ts';

const exportEntries: Command = {
  name: 'audit export',
  summary: 'Write audit entries as NDJSON. Each line contains the hash of the line before.',
  options: {
    since: {
      type: 'string',
      description: 'Entries since a time (2026-11-20T10:00Z) or a duration ago (30m, 12h, 7d).',
    },
    file: {
      type: 'string',
      description: 'Create this file, or continue it after its last entry.',
    },
    follow: { type: 'boolean', description: 'Wait for new entries. Stop with Ctrl-C.' },
  },
  notes: [
    'Prints to standard output without --file. An existing file is verified first.',
    'An entry that counts more events later is written again. Use the last line of each id.',
  ],
  async run({ options }, { identity, terminal, environment, now, warn }) {
    const since = readTime('since', text(options.since), now());
    const file = text(options.file);
    const path = file === undefined ? undefined : callerPath(file, environment);
    const target =
      path === undefined
        ? exportToTerminal(terminal)
        : await withFileErrors(path, exportToFile(path));
    try {
      const { newest, versions } = target;
      const filter = { since: newest === undefined ? since : startOfOverlap(newest) };
      const found = await identity.audit.read({ ...filter, limit: MAXIMUM_AUDIT_ENTRIES });
      const added = found.toReversed().filter((entry) => !versions.has(versionOf(entry)));
      await target.write(added);
      if (flag(options.follow) === true) {
        for await (const entries of followTrail(identity, filter, found, warn)) {
          await target.write(entries);
        }
      }
      return target.result();
    } finally {
      await target.close();
    }
  },
};

const verifyExport: Command = {
  name: 'audit verify',
  summary: 'Check that no line of an audit export was removed, added or changed.',
  positionals: ['file'],
  options: {
    hash: {
      type: 'string',
      description: 'A hash of a line, kept elsewhere. Shows that the end was not removed.',
    },
  },
  async runOffline({ positionals, options }, { environment }) {
    const path = callerPath(positionals.file ?? '', environment);
    const { lines, first, newest, lastHash } = await readCompleteExport(path, text(options.hash));
    return {
      json: { lines, first, newest, lastHash },
      text: [
        `The chain of ${lines} lines is complete.`,
        `Events: ${printable(first ?? 'none')} to ${printable(newest ?? 'none')}`,
        `Hash of the last line: ${lastHash ?? 'none'}`,
        'Nothing protects the last line, except its hash. Keep the hash elsewhere, and compare it with --hash.',
      ].join('\n'),
    };
  },
};

/** @throws UsageError if the file cannot be opened or read */
async function withFileErrors<Result>(path: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw fileError(path, error);
  }
}

export const auditExportCommands: readonly Command[] = [exportEntries, verifyExport];
