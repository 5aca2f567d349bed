import { readFileSync } from 'node:fs';

const read = (name: string) => readFileSync(new URL(`${name}.css`, import.meta.url), 'utf8');

/** The styles of the pages of every server. A server adds its own after them. */
export function readSharedStyles(): string {
  return ['colors', 'text', 'controls'].map(read).join('\n');
}

export type ColorScheme = 'light' | 'dark';

const palettes = new Map<ColorScheme, Readonly<Record<string, string>>>();

/** The colors of these styles by name, in six hexadecimal digits. */
export function readPalette(scheme: ColorScheme): Readonly<Record<string, string>> {
  const known = palettes.get(scheme) ?? parsePalette(scheme);
  palettes.set(scheme, known);
  return known;
}

function parsePalette(scheme: ColorScheme): Readonly<Record<string, string>> {
  const [light = '', dark = ''] = read('colors').split('@media');
  const declarations = (scheme === 'light' ? light : dark).matchAll(/--([\w-]+): (#\w{6});/g);
  return Object.fromEntries([...declarations].map(([, name = '', color = '']) => [name, color]));
}
