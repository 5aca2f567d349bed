import { describe, expect, test } from '@jest/globals';
import { readSharedStyles } from './shared-styles.ts';

/**
 * WCAG 2.2: 1.4.3 wants 4.5:1 for text, 1.4.11 wants 3:1 for the edges of what one types into or
 * presses.
 */
const textPairs = [
  ['text', 'card'],
  ['text', 'ground'],
  ['text', 'soft'],
  ['quiet', 'card'],
  ['quiet', 'soft'],
  ['accent', 'card'],
  ['accent', 'soft'],
  ['accent-strong', 'card'],
  ['on-accent', 'accent'],
  ['on-accent', 'accent-strong'],
  ['problem', 'card'],
  ['problem', 'problem-ground'],
  ['success', 'success-ground'],
  ['warning', 'warning-ground'],
] as const;
const edgePairs = [
  ['line', 'card'],
  ['accent', 'card'],
  ['accent', 'ground'],
  ['problem', 'card'],
] as const;

const [light = '', dark = ''] = readSharedStyles().match(/:root \{[^}]*\}/g) ?? [];

describe.each([
  ['light', light],
  ['dark', dark],
])('the %s colors', (_scheme, block) => {
  const colors = new Map(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );
  const contrast = (one: string, other: string) => {
    const [darker = 0, lighter = 0] = [one, other]
      .map((name) => luminance(colors.get(name) ?? ''))
      .sort((a, b) => a - b);
    return (lighter + 0.05) / (darker + 0.05);
  };

  test.each(textPairs)('keep %s readable on %s', (foreground, background) => {
    expect(contrast(foreground, background)).toBeGreaterThanOrEqual(4.5);
  });

  test.each(edgePairs)('keep the edge %s visible on %s', (edge, background) => {
    expect(contrast(edge, background)).toBeGreaterThanOrEqual(3);
  });
});

test('both color schemes have the same colors', () => {
  const [inLight, inDark] = [light, dark].map((block) => block.match(/--[\w-]+:/g));
  expect(inDark).toEqual(inLight);
});

/** WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const channels = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = channels.map((value) =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
