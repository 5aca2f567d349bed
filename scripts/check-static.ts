import { spawn } from 'node:child_process';

/** All checks run at once and to their end, so that one run reports every problem. */
const checks: readonly (readonly [name: string, script: string, ...args: string[]])[] = [
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '.'],
  ['types', 'node_modules/typescript/bin/tsc', '--noEmit'],
  [
    'types of the explorer',
    'node_modules/typescript/bin/tsc',
    '--project',
    'apps/gateway/src/explorer/page',
  ],
  ['spelling', 'node_modules/cspell/bin.mjs', 'lint', '--no-progress', '--no-summary'],
  ['writing', 'scripts/check-writing.ts'],
  ['links', 'scripts/check-links.ts'],
  ['generated lists', 'scripts/generate-docs.ts', '--check'],
  ['commit subjects', 'scripts/check-commit-subjects.ts'],
];

const results = await Promise.all(checks.map(([name, ...command]) => run(name, command)));
process.exitCode = results.every(Boolean) ? 0 : 1;

/** Prints the output of a check as a whole, so that two checks never mix their lines. */
function run(name: string, command: readonly string[]): Promise<boolean> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('close', (status) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(`${status === 0 ? 'passed' : 'FAILED'}: ${name} (${seconds} s)`);
      if (status !== 0) {
        console.log(output);
      }
      resolve(status === 0);
    });
  });
}
