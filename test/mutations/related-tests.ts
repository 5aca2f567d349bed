import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { readSourceTree, root, type SourceFile } from '../source-tree.ts';
import type { MutatedFolder } from './folders.ts';

/**
 * The test files that can notice a change of the file, in batches, nearest first. A mutant that a
 * unit test kills needs no server.
 */
export function relatedTests(path: string, { tests }: MutatedFolder): readonly string[][] {
  const [, workspace = ''] = /^([^/]+\/[^/]+)\//.exec(path) ?? [];
  const importing = importersOf(path).filter(
    (file) => file.startsWith(`${workspace}/`) && /(?<!\.slow)\.test\.ts$/.test(file),
  );
  const beside = importing.filter((file) => file.startsWith(`${workspace}/src/`));
  const apart = importing.filter((file) => !beside.includes(file) && !tests.includes(file));
  const present = tests.filter((file) => existsSync(join(root, file)));
  // If the table lists tests, the remaining ones would only repeat them through the whole app.
  return [beside, tests.length > 0 ? [...present] : apart].filter((batch) => batch.length > 0);
}

/** Every file that imports the path directly or indirectly, nearest first. */
function importersOf(path: string): readonly string[] {
  const reached = new Set([path]);
  // The loop also visits entries that are added during the iteration, in insertion order.
  for (const target of reached) {
    for (const importer of directImporters().get(target) ?? []) {
      reached.add(importer);
    }
  }
  return [...reached];
}

let known: ReadonlyMap<string, readonly string[]> | undefined;

function directImporters(): ReadonlyMap<string, readonly string[]> {
  if (known === undefined) {
    const importers = new Map<string, string[]>();
    for (const file of readSourceTree()) {
      for (const { specifier } of file.imports) {
        const target = targetOf(file, specifier);
        importers.set(target, [...(importers.get(target) ?? []), file.path]);
      }
    }
    known = importers;
  }
  return known;
}

function targetOf(file: SourceFile, specifier: string): string {
  const own = /^@gatehouse\/([^/]+)$/.exec(specifier)?.[1];
  return own === undefined
    ? posix.join(posix.dirname(file.path), specifier)
    : `packages/${own}/src/index.ts`;
}
