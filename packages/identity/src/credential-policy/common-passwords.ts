import { readFileSync } from 'node:fs';

const file = new URL('common-passwords.txt', import.meta.url);

/** In lower case. Where they come from and under which license: the file's own comment. */
export const commonPasswords: ReadonlySet<string> = new Set(
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#')),
);
