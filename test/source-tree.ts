import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root: string = join(import.meta.dirname, '..');

export interface Import {
  readonly specifier: string;
  readonly line: number;
}

/** One source file, with the properties that the rules of the architecture check. */
export interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  /**
   * `apps/gateway`, `packages/store` and so on. Undefined for `scripts/` and `test/` in the root.
   */
  readonly workspace: string | undefined;
  /** Tests, contract suites, and files that only they use. */
  readonly isTest: boolean;
  readonly imports: readonly Import[];
  readonly text: string;
  /** The text with blank comments. Line numbers do not change. */
  readonly code: string;
  readonly lineCount: number;
}

export interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export function readSourceTree(): readonly SourceFile[] {
  return globSync('{apps,packages,scripts,test,bench}/**/*.{ts,mjs}', {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => sourceFile(path, readFileSync(join(root, path), 'utf8')));
}

export function readWorkspaces(): ReadonlyMap<string, Manifest> {
  return new Map(
    globSync('{apps,packages}/*/package.json', { cwd: root })
      .map((path) => path.replaceAll('\\', '/'))
      .sort()
      .map((path) => [
        path.slice(0, -'/package.json'.length),
        JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest,
      ]),
  );
}

export function sourceFile(path: string, text: string): SourceFile {
  const code = blankComments(text);
  return {
    path,
    workspace: /^(?:apps|packages)\/[^/]+/.exec(path)?.[0],
    isTest:
      /\.test\.ts$|-contract\.ts$|^test\/|^bench\/|^packages\/testing\//.test(path) ||
      /^[^/]+\/[^/]+\/test\//.test(path),
    imports: findImports(code),
    text,
    code,
    lineCount: text.replace(/\n$/, '').split('\n').length,
  };
}

export function lineOf(code: string, index: number): number {
  return code.slice(0, index).split('\n').length;
}

/** Strings are matched too, so that `//` in a string is not treated as a comment. */
function blankComments(text: string): string {
  return text.replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g,
    (match) => (/^\/[/*]/.test(match) ? match.replace(/[^\n]/g, ' ') : match),
  );
}

/**
 * Static imports and re-exports start a line, which Biome enforces. Dynamic imports can be
 * anywhere.
 */
function findImports(code: string): readonly Import[] {
  const patterns = [
    /^(?:import|export)\s+(?:[\w*{}\s,$]+?\s+from\s+)?'([^']+)'/gm,
    /\b(?:import|require|resolve)\(\s*'([^']+)'/g,
  ];
  return patterns.flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => ({
      specifier: match[1] ?? '',
      line: lineOf(code, match.index),
    })),
  );
}
