/**
 * `npm run build --workspace packages/client` writes what is published, without a dependency: one
 * file of JavaScript, which contains the signing code, and the declarations of the public names.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { compile } from './compile.ts';
import { expandApiTypes } from './expand-api-types.ts';

const packageFolder = join(import.meta.dirname, '..');
const dist = join(packageFolder, 'dist');

rmSync(dist, { recursive: true, force: true });
compile(join(packageFolder, 'tsconfig.build.json'));
const apiTypes = join(dist, 'api-types.d.ts');
writeFileSync(apiTypes, expandApiTypes(readFileSync(apiTypes, 'utf8'), dist));
keepPublicDeclarations();
await build({
  entryPoints: [join(packageFolder, 'src/index.ts')],
  outfile: join(dist, 'index.js'),
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
});

/** Removes the declarations that `index.d.ts` does not lead to. */
function keepPublicDeclarations(): void {
  const reached = new Set(['index.d.ts']);
  for (const path of reached) {
    const file = join(dist, path);
    const text = readFileSync(file, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'");
    for (const [, target = ''] of text.matchAll(/from '(\.[^']*)\.js'/g)) {
      reached.add(`${join(path, '..', target)}.d.ts`);
    }
    writeFileSync(file, text);
  }
  for (const path of globSync('**/*.d.ts', { cwd: dist })) {
    if (!reached.has(path)) {
      rmSync(join(dist, path));
    }
  }
}
