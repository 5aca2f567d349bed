import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { codeBlock, type Document, readOperationsPages, section } from './documents.ts';
import { root } from './source-tree.ts';

/** The commands of the block with this name. */
export function commandsNamed(name: string): string {
  return codeBlock(pageWith(`\`\`\`sh ${name}\n`), `sh ${name}`);
}

/** The commands of the n-th unnamed block under a heading. */
export function commandsUnder(heading: string, index: number): string {
  const text = section(pageWith(`\n## ${heading}\n`), heading);
  const found = [...text.matchAll(/```sh\n([\s\S]*?)```/g)][index]?.[1];
  if (found === undefined) {
    throw new Error(`docs/operations/ has no such block under ${heading}.`);
  }
  return found;
}

function pageWith(text: string): Document {
  const found = readOperationsPages().find((page) => page.text.includes(text));
  if (found === undefined) {
    throw new Error(`No page in docs/operations/ contains ${text.trim()}.`);
  }
  return found;
}

/**
 * Runs the commands in the root of the repository, as an operator does. Resolves to their output.
 */
export function runCommands(commands: string, environment: Readonly<NodeJS.ProcessEnv>): string {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  return execFileSync('bash', ['-eu', '-o', 'pipefail', '-c', commands], {
    cwd: root,
    encoding: 'utf8',
    env: { PATH, HOME: process.env.HOME ?? '/', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
