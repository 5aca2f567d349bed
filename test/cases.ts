import { readDocument } from './documents.ts';
import type { SourceFile } from './source-tree.ts';

/** A row of docs/cases.md. */
export interface Case {
  readonly id: string;
  readonly rule: string;
  /** Paths from the root. */
  readonly tests: readonly string[];
}

export const casesDocument = 'docs/cases.md';

const caseId = /\b[A-Z]{2}-\d{2}\b/g;
const row = /^\| ([A-Z]{2}-\d{2}) \| (.+) \| (.*) \|$/;

export function readCases(): readonly Case[] {
  return readDocument(casesDocument)
    .text.split('\n')
    .flatMap((line) => {
      const [, id, rule = '', tests = ''] = row.exec(line) ?? [];
      return id === undefined
        ? []
        : [{ id, rule, tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path) }];
    });
}

export function namedCases(text: string): ReadonlySet<string> {
  return new Set(text.match(caseId));
}

/** Case → the tests and benchmarks that name it. */
export function testsByCase(files: readonly SourceFile[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { path, text } of files.filter((file) => file.isTest)) {
    for (const id of namedCases(text)) {
      found.set(id, [...(found.get(id) ?? []), path]);
    }
  }
  return found;
}

/** Returns the document with the tests that name each case. */
export function withTests(document: string, tests: ReturnType<typeof testsByCase>): string {
  return document
    .split('\n')
    .map((line) =>
      line.replace(row, (_line, id, rule) => {
        const paths = (tests.get(id) ?? []).map((path) => `\`${path}\``);
        return `| ${id} | ${rule} | ${paths.join(', ')} |`;
      }),
    )
    .join('\n');
}
