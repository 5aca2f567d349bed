import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './source-tree.ts';

/** A page of the documentation, and the names on it that must exist in the code. */
export interface Document {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface TableRow {
  /** The text of each cell, unchanged. */
  readonly cells: readonly string[];
}

export function readDocuments(): readonly Document[] {
  return globSync(['*.md', 'docs/**/*.md', 'bench/*/*.md', 'examples/*.md'], { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map(readDocument);
}

export function readDocument(path: string): Document {
  return { path, text: readFileSync(join(root, path), 'utf8') };
}

/**
 * Returns the rows of every table below a heading, up to the next heading of the same or a higher
 * level.
 */
export function tableRows(document: Document, heading: string): readonly TableRow[] {
  return section(document, heading)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| [^`#0-9]*\| ---|^\|-/.test(line))
    .map((line) => ({
      cells: line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    }))
    .slice(1);
}

/** Returns the text in backticks at the start of a row's first cell. */
export function firstName({ cells }: TableRow): string {
  return /^`([^`]+)`/.exec(cells[0] ?? '')?.[1] ?? '';
}

export function section({ path, text }: Document, heading: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex(
    (line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading,
  );
  const level = /^#+/.exec(lines[start] ?? '')?.[0].length;
  if (level === undefined) {
    throw new Error(`${path} has no heading "${heading}".`);
  }
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => new RegExp(`^#{1,${level}} `).test(line));
  return rest.slice(0, end === -1 ? undefined : end).join('\n');
}

/**
 * Returns the first code block whose fence is followed by this text: a language, or a language and
 * a name.
 */
export function codeBlock({ path, text }: Document, heading: string): string {
  const found = new RegExp(`\`\`\`${heading}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
  if (found === undefined) {
    throw new Error(`${path} has no block ${heading}.`);
  }
  return found;
}
