import { expect, test } from '@jest/globals';
import { stylesheet } from './assets.ts';

test('the stylesheet uses only the colors of all pages', () => {
  const rules = stylesheet.replaceAll(/:root \{[^}]*\}/g, '');
  expect(rules.match(/#[0-9a-f]{3,8}\b/gi) ?? []).toEqual([]);
  for (const [, name] of rules.matchAll(/var\(--([\w-]+)\)/g)) {
    expect(stylesheet).toContain(`--${name}:`);
  }
});
