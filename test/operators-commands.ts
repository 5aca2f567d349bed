import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { codeBlock, readDocument } from './documents.ts';
import { root } from './source-tree.ts';

/** The commands of docs/operations.md that stand in a block of this name: what follows `sh` at its beginning. */
export function commandsNamed(name: string): string {
  return codeBlock(readDocument('docs/operations.md'), `sh ${name}`);
}

/** The commands of the n-th unnamed block after a heading. */
export function commandsUnder(heading: string, index: number): string {
  const { text } = readDocument('docs/operations.md');
  const blocks = text.slice(text.indexOf(`## ${heading}\n`)).matchAll(/```sh\n([\s\S]*?)```/g);
  const found = [...blocks][index]?.[1];
  if (found === undefined) {
    throw new Error(`docs/operations.md has no such block under ${heading}.`);
  }
  return found;
}

/** Runs them as an operator does, in the root of this repository; resolves to what they print. */
export function runCommands(commands: string, environment: Readonly<NodeJS.ProcessEnv>): string {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  return execFileSync('bash', ['-eu', '-o', 'pipefail', '-c', commands], {
    cwd: root,
    encoding: 'utf8',
    env: { PATH, HOME: process.env.HOME ?? '/', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
