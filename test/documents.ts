import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './source-tree.ts';

/** A page of the documentation. */
export interface Document {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** The pages of the operators' guide. */
export function readOperationsPages(): readonly Document[] {
  return globSync('docs/operations/*.md', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map(readDocument);
}

export function readDocument(path: string): Document {
  return { path, text: readFileSync(join(root, path), 'utf8') };
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
