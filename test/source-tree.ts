import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root: string = join(import.meta.dirname, '..');

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
  /** The specifiers of its imports. */
  readonly imports: readonly string[];
  /** The text with blank comments. Line numbers do not change. */
  readonly code: string;
  readonly lineCount: number;
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

function sourceFile(path: string, text: string): SourceFile {
  const code = blankComments(text);
  return {
    path,
    workspace: /^(?:apps|packages)\/[^/]+/.exec(path)?.[0],
    isTest:
      /\.test\.ts$|-contract\.ts$|^test\/|^bench\/|^packages\/testing\//.test(path) ||
      /^[^/]+\/[^/]+\/test\//.test(path),
    imports: findImports(code),
    code,
    lineCount: text.replace(/\n$/, '').split('\n').length,
  };
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
function findImports(code: string): readonly string[] {
  const patterns = [
    /^(?:import|export)\s+(?:[\w*{}\s,$]+?\s+from\s+)?'([^']+)'/gm,
    /\b(?:import|require|resolve)\(\s*'([^']+)'/g,
  ];
  return patterns.flatMap((pattern) =>
    [...code.matchAll(pattern)].map(([, specifier = '']) => specifier),
  );
}
