import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { compile } from './compile.ts';

const packageFolder = join(import.meta.dirname, '..');

/**
 * The declarations name schemas, which would need zod and the package of the device API. The
 * compiler writes the inferred type of a value in full, so it can expand them.
 *
 * @param parent where the function creates a temporary folder
 */
export function expandApiTypes(declarations: string, parent: string): string {
  const names = [...declarations.matchAll(/^export (?:type|interface) (\w+)/gm)].map(
    ([, name = '']) => name,
  );
  const folder = mkdtempSync(join(parent, 'expanded-'));
  try {
    writeFileSync(join(folder, 'values.ts'), valuesOf(names));
    const project = join(folder, 'tsconfig.json');
    writeFileSync(project, JSON.stringify(projectOf('values.ts')));
    compile(project);
    const output = join(folder, 'out', relative(packageFolder, folder), 'values.d.ts');
    const values = readFileSync(output, 'utf8');
    if (/\bimport\(/.test(values)) {
      throw new Error('The compiler did not expand every type of the device API.');
    }
    return values.replaceAll(/^export declare const (\w+):/gm, 'export type $1 =');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The template literal makes a named union of texts a plain one. */
function valuesOf(names: readonly string[]): string {
  return `import type * as Api from '../../src/api-types.ts';
type Plain<T> = T extends string
  ? \`\${T}\`
  : T extends object
    ? { [Key in keyof T]: Plain<T[Key]> } & {}
    : T;
declare function plain<T>(): Plain<T>;
${names.map((name) => `export const ${name} = plain<Api.${name}>();\n`).join('')}`;
}

function projectOf(file: string): object {
  return {
    extends: '../../../../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: '../..',
      outDir: 'out',
    },
    files: [file],
    include: [],
  };
}
