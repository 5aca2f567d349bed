import { readFileSync } from 'node:fs';

const file = new URL('common-passwords.txt', import.meta.url);

/** In lower case. The file states their source and license. */
export const commonPasswords: ReadonlySet<string> = new Set(
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#')),
);
