import { type AuditEntry, MAXIMUM_AUDIT_ENTRIES } from '@gatehouse/identity';
import { createChain, openExportFile, readCompleteExport } from '../audit-export/export-file.ts';
import { followTrail, startOfOverlap, versionOf } from '../audit-export/follow-trail.ts';
import { describeReplay, readRevocations, replayRevocations } from '../backup/revocations.ts';
import { type Command, type Options, text, UsageError } from '../command-line/command.ts';
import { printable } from '../command-line/format.ts';
import { readTime, sinceOption } from '../command-line/lists.ts';
import { assertConfirmed, withFileErrors, yesOption } from '../command-line/terminal.ts';

export const hashOption: Options = {
  'hash <hash>': 'A hash of a line, kept elsewhere. Shows that the end was not removed.',
};

const exportEntries: Command = {
  usage: 'audit export',
  summary: 'Write audit entries as NDJSON. Each line contains the hash of the line before.',
  options: {
    ...sinceOption,
    'file <path>': 'Create this file, or continue it after its last entry.',
    follow: 'Wait for new entries. Stop with Ctrl-C.',
  },
  notes: [
    'Prints to standard output without --file. An existing file is verified first.',
    'An entry that counts more events later is written again. Use the last line of each id.',
  ],
  example: '--file audit.ndjson --follow',
  async run(input, { identity, terminal, warn }) {
    const since = readTime('since', input);
    const path = text(input.options.file);
    const file =
      path === undefined
        ? undefined
        : await withFileErrors(path, openExportFile(terminal.pathOf(path)));
    const chain = createChain(file?.existing?.lastHash ?? null);
    let written = 0;
    const write = async (entries: readonly AuditEntry[]) => {
      const lines = entries.map((entry) => chain.add(entry));
      for (const line of file === undefined ? lines : []) {
        terminal.write(line);
      }
      await file?.append(lines);
      written += lines.length;
    };
    try {
      const { newest, versions } = file?.existing ?? {};
      const filter = { since: newest === undefined ? since : startOfOverlap(newest) };
      const found = await identity.audit.read({ ...filter, limit: MAXIMUM_AUDIT_ENTRIES });
      await write(found.toReversed().filter((entry) => versions?.has(versionOf(entry)) !== true));
      if (input.options.follow === true) {
        for await (const entries of followTrail(identity, filter, found, warn)) {
          await write(entries);
        }
      }
    } finally {
      await file?.close();
    }
    const lastHash = chain.last();
    return file === undefined
      ? undefined
      : {
          json: { written, lastHash },
          text: `Entries written: ${written}\nHash of the last line: ${lastHash ?? 'none'}`,
        };
  },
};

const verifyExport: Command = {
  usage: 'audit verify <file>',
  summary: 'Check that no line of an audit export was removed, added or changed.',
  options: hashOption,
  example: 'audit.ndjson',
  async runOffline({ positionals: { file = '' }, options }, { terminal }) {
    const path = terminal.pathOf(file);
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

const replay: Command = {
  usage: 'audit replay <file>',
  summary: 'Repeat the revocations of an audit export in a restored store.',
  options: {
    'since <time>': 'The time of the backup. Earlier entries are ignored.',
    ...hashOption,
    ...yesOption,
  },
  notes: [
    'Disables clients and users, and removes keys. Reads /dev/stdin, too.',
    'For a store that was restored with its own tools. gatehouse backup restore --audit does it itself.',
  ],
  example: 'audit.ndjson --since 2026-11-20T10:00Z',
  async run(input, context) {
    const since = readTime('since', input);
    if (since === undefined) {
      throw new UsageError('--since is required.');
    }
    const path = context.terminal.pathOf(input.positionals.file ?? '');
    const found = await readRevocations(path, text(input.options.hash), since, context.warn);
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

export const auditExportCommands: readonly Command[] = [exportEntries, verifyExport, replay];
