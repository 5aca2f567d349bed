import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './source-tree.ts';

/** A page of the documentation, and the names on it that the code must have. */
export interface Document {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface TableRow {
  /** The text of each cell, as it is written. */
  readonly cells: readonly string[];
}

export function readDocuments(): readonly Document[] {
  return globSync(['*.md', 'docs/**/*.md', 'bench/*/*.md'], { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map(readDocument);
}

export function readDocument(path: string): Document {
  return { path, text: readFileSync(join(root, path), 'utf8') };
}

/**
 * The rows of every table under a heading (of any level), up to the next heading of that level or
 * above.
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

/** The text in backticks at the beginning of a row's first cell. */
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

/** Relative links and pictures, without their anchors. */
export function relativeLinks({ text }: Document): readonly string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.split('#', 1)[0] ?? '')
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target));
}

/** Relative links with an anchor; the target is empty for a link within the page. */
export function relativeAnchors({
  text,
}: Document): readonly { readonly target: string; readonly anchor: string }[] {
  return [...text.matchAll(/\]\(([^)\s:#]*)#([^)\s]+)\)/g)].map(([, target = '', anchor = '']) => ({
    target,
    anchor,
  }));
}

/** The anchors that GitHub gives to the headings of a page. */
export function headingAnchors({ text }: Document): ReadonlySet<string> {
  return new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Paths from the root that stand in backticks. */
export function namedPaths({ text }: Document): readonly string[] {
  return [...text.matchAll(/`((?:apps|packages|scripts|test|docs)\/[^`\s*{}]*)`/g)].map(
    ([, path = '']) => path,
  );
}

/** `GET /path`, and the addresses in examples, without query and fragment. */
export function namedRoutes({ text }: Document): readonly string[] {
  const written = [...text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE)\s+(\/[^\s`|)?,]*)/g)].map(
    ([, method, path]) => `${method} ${path}`,
  );
  const addressed = [...text.matchAll(/http:\/\/localhost:\d+(\/[^\s"'`?|)#]*)/g)].map(
    ([, path]) => `* ${path}`,
  );
  return [...written, ...addressed];
}

export function namedNpmScripts({ text }: Document): readonly string[] {
  return [...text.matchAll(/\bnpm (?:run ([a-z][a-z:-]*)|(start|test)\b)/g)].map(
    ([, script, lifecycle]) => script ?? lifecycle ?? '',
  );
}

/**
 * The first block of code whose fence is followed by this: a language, or a language and a name.
 */
export function codeBlock({ path, text }: Document, heading: string): string {
  const found = new RegExp(`\`\`\`${heading}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
  if (found === undefined) {
    throw new Error(`${path} has no block ${heading}.`);
  }
  return found;
}
