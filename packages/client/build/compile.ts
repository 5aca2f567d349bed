import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const compiler = join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc');

/** Runs the TypeScript compiler on a project file. Throws if it reports an error. */
export function compile(project: string): void {
  execFileSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' });
}
