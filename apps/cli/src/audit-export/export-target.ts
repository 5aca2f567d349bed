import { existsSync } from 'node:fs';
import type { AuditEntry } from '@gatehouse/identity';
import type { CommandResult } from '../command-line/command.ts';
import type { Terminal } from '../command-line/terminal.ts';
import { openExportFile } from './export-file.ts';
import { createChain } from './hash-chain.ts';
import { readExport } from './read-export.ts';

/** Where an export goes. */
export interface ExportTarget {
  /** The latest event that it already contains. */
  readonly newest: string | undefined;
  /** The versions of entries that it already contains. */
  readonly versions: ReadonlySet<string>;
  write(entries: readonly AuditEntry[]): Promise<void>;
  /** Undefined if the entries were the output. */
  result(): CommandResult | undefined;
  close(): Promise<void>;
}

export function exportToTerminal({ write }: Terminal): ExportTarget {
  const chain = createChain(null);
  return {
    newest: undefined,
    versions: new Set(),
    async write(entries) {
      for (const entry of entries) {
        write(chain.add(entry));
      }
    },
    result: () => undefined,
    close: async () => undefined,
  };
}

/** Appends to the file if it is a complete export, and creates it if it does not exist. */
export async function exportToFile(path: string): Promise<ExportTarget> {
  const existing = existsSync(path) ? await readExport(path) : undefined;
  const chain = createChain(existing?.lastHash ?? null);
  const file = await openExportFile(path, existing ?? { completeBytes: 0, incompleteBytes: 0 });
  let written = 0;
  return {
    newest: existing?.newest,
    versions: existing?.versions ?? new Set(),
    async write(entries) {
      await file.append(entries.map((entry) => chain.add(entry)));
      written += entries.length;
    },
    result: () => ({
      json: { written, lastHash: chain.last() },
      text: `Entries written: ${written}\nHash of the last line: ${chain.last() ?? 'none'}`,
    }),
    close: file.close,
  };
}
