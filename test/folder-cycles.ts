import { posix } from 'node:path';
import type { SourceFile } from './source-tree.ts';

/** The entries that an entry of a folder imports, each with a file that imports it. */
type Edges = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * Finds cycles among the entries of each folder. An entry is a file, or a folder as one unit, so
 * two folders that import each other are a cycle even if no two of their files are. Imports of
 * types count. The linter finds cycles of files (noImportCycles), but permits imports of types.
 */
export function findFolderCycles(files: readonly SourceFile[]): readonly string[] {
  return [...edgesByFolder(files)].flatMap(([folder, edges]) => {
    const reported = new Set<string>();
    return [...edges.keys()].sort().flatMap((entry) => {
      const cycle = reported.has(entry) ? undefined : shortestCycle(entry, edges);
      if (cycle === undefined || cycle.every((each) => each.includes('.'))) {
        return [];
      }
      for (const each of cycle) {
        reported.add(each);
      }
      return [describeCycle(folder, cycle, edges)];
    });
  });
}

function edgesByFolder(files: readonly SourceFile[]): ReadonlyMap<string, Edges> {
  const folders = new Map<string, Map<string, Map<string, string>>>();
  for (const file of files) {
    for (const { specifier } of file.imports.filter((each) => each.specifier.startsWith('.'))) {
      const importer = file.path.split('/');
      const imported = posix.join(posix.dirname(file.path), specifier).split('/');
      const depth = importer.findIndex((name, index) => name !== imported[index]);
      if (depth !== -1) {
        const edges = entryOf(folders, importer.slice(0, depth).join('/'));
        entryOf(edges, importer[depth] ?? '').set(imported[depth] ?? '', file.path);
      }
    }
  }
  return folders;
}

function entryOf<Key, Name, Value>(maps: Map<Key, Map<Name, Value>>, key: Key): Map<Name, Value> {
  const found = maps.get(key) ?? new Map<Name, Value>();
  maps.set(key, found);
  return found;
}

/** The search is breadth-first, so the first path that returns to the entry is the shortest. */
function shortestCycle(entry: string, edges: Edges): readonly string[] | undefined {
  const visited = new Set<string>();
  const paths: string[][] = [[entry]];
  for (const path of paths) {
    for (const next of edges.get(path.at(-1) ?? '')?.keys() ?? []) {
      if (next === entry) {
        return [...path, entry];
      }
      if (!visited.has(next)) {
        visited.add(next);
        paths.push([...path, next]);
      }
    }
  }
  return undefined;
}

function describeCycle(folder: string, cycle: readonly string[], edges: Edges): string {
  const examples = cycle.slice(1).map((to, index) => edges.get(cycle[index] ?? '')?.get(to));
  return `${folder}: ${cycle.join(' → ')} (see ${examples.join(', ')})`;
}
