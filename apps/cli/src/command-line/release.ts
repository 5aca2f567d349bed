import { readFileSync } from 'node:fs';

const file = new URL('../../package.json', import.meta.url);

/** The version of Gatehouse to which the commands belong. */
export const release: string = (
  JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }
).version;
