import { readFileSync } from 'node:fs';

/** The styles of the pages of every server. A server adds its own after them. */
export function readSharedStyles(): string {
  return ['colors', 'text', 'controls']
    .map((name) => readFileSync(new URL(`${name}.css`, import.meta.url), 'utf8'))
    .join('\n');
}
