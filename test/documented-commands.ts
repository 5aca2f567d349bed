import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDocuments } from './documents.ts';
import { root } from './source-tree.ts';

/** A command in a document, as words. */
export interface DocumentedCommand {
  readonly path: string;
  readonly words: readonly string[];
  /** In a sentence, which can omit the arguments. */
  readonly isMention: boolean;
}

/** A word of a shell: in quotation marks, a substitution, or without blanks. */
const WORD = /(?:'[^']*'|"(?:\$\([^)]*\)|[^"])*"|\$\([^)]*\)|[^\s'"|<>;&)])+/y;

/**
 * The commands that match a pattern, in all blocks of commands, in text in backticks, and in
 * comments of the Compose file and the manifests. A command begins after the match and ends at an
 * operator or comment of the shell.
 */
export function documentedCommands(start: RegExp): readonly DocumentedCommand[] {
  const documents = readDocuments()
    .filter(({ path }) => path !== 'CHANGELOG.md')
    .map(({ path, text }) => ({ path, lines: codeOf(text) }));
  return [...documents, ...commentedFiles()].flatMap(({ path, lines }) =>
    lines.flatMap(({ line, isMention }) =>
      [...line.matchAll(start)].map((found) => ({
        path,
        isMention,
        words: wordsAt(line, found.index + found[0].length).filter((word) => word !== '…'),
      })),
    ),
  );
}

/** In these comments, two spaces separate a command from its description. */
function commentedFiles() {
  return globSync(['docker-compose.yml', 'deploy/**/*.{yaml,yml}'], { cwd: root }).map((path) => ({
    path,
    lines: [...readFileSync(join(root, path), 'utf8').matchAll(/^ *# +(\S.*)$/gm)].map(
      ([, comment = '']) => ({ line: comment.replace(/ {2}.*/, ''), isMention: true }),
    ),
  }));
}

function codeOf(text: string) {
  const blocks = [...text.matchAll(/^ *```sh.*\n([\s\S]*?)^ *```/gm)].flatMap(([, block = '']) =>
    block.replaceAll(/\\\n\s*/g, '').split('\n'),
  );
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '');
  const mentions = [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  return [
    ...blocks.map((line) => ({ line, isMention: false })),
    ...mentions.map((line) => ({ line, isMention: true })),
  ];
}

function wordsAt(line: string, start: number): readonly string[] {
  const words: string[] = [];
  let position = start;
  for (;;) {
    position += /^[ \t]*/.exec(line.slice(position))?.[0].length ?? 0;
    WORD.lastIndex = position;
    const word = WORD.exec(line)?.[0];
    if (word === undefined || word.startsWith('#')) {
      return words;
    }
    words.push(word.replaceAll(/^['"]|['"]$/g, ''));
    position += word.length;
  }
}
