/**
 * Writes the lists in documents that code declares, between `<!-- generated: NAME -->` and
 * `<!-- end -->`. With `--check`, it changes nothing, and fails if a list is out of date.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ErrorCode,
  errorCatalogue,
  type FailureReason,
  failureReasons,
} from '@gatehouse/errors';

const root = join(import.meta.dirname, '..');
const check = process.argv.includes('--check');

const lists: Readonly<Record<string, () => string>> = { codes: errorCodes };

for (const path of globSync('docs/**/*.md', { cwd: root })) {
  const file = join(root, path);
  const text = readFileSync(file, 'utf8');
  const written = text.replace(
    /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_all, start: string, name: string, end: string) => `${start}\n${listNamed(name)}\n\n${end}`,
  );
  if (written !== text && check) {
    console.error(`${path} is out of date. Run npm run generate:docs.`);
    process.exitCode = 1;
  } else if (written !== text) {
    writeFileSync(file, written);
  }
}

function listNamed(name: string): string {
  const list = lists[name];
  if (list === undefined) {
    throw new Error(`No list has the name ${name}.`);
  }
  return list();
}

/** The codes of the platform API. The reason of the same name has the texts. */
function errorCodes(): string {
  const reasons: Readonly<Record<string, FailureReason>> = failureReasons;
  const rows = Object.keys(errorCatalogue).map((code) => {
    const { status } = errorCatalogue[code as ErrorCode];
    const { cause, fix } = reasons[code] ?? {
      cause: 'Gatehouse has a defect.',
      fix: 'Report it with X-Request-Id.',
    };
    return [`\`${code}\``, `${status}`, cause, fix];
  });
  return table(['Code', 'Status', 'Cause', 'What to do'], rows);
}

function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(heading), `|${heading.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
