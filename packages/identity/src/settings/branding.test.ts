import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPalette } from '@gatehouse/server/page-styles';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { loadBootstrap } from '../bootstrap/load-bootstrap.ts';
import { brandingSchema, contrastProblems, resolveBrands } from './branding.ts';

const folder = temporaryFolder();
const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>';
const files = {
  'logo.svg': `\uFEFF<?xml version="1.0"?>\n<!-- <svg> -->\n${svg}`,
  'icon.png': Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1'),
  'inline.svg': svg.replace(/ xmlns="[^"]*"/, ''),
  'page.svg': `<html>${svg}</html>`,
  'large.svg': svg.padEnd(32 * 1024 + 1),
};
for (const [name, content] of Object.entries(files)) {
  writeFileSync(join(folder, name), content);
}

function load(branding: unknown) {
  const path = join(folder, 'bootstrap.json');
  writeFileSync(path, JSON.stringify({ branding }));
  return loadBootstrap(path).branding;
}

describe('the colors of a brand', () => {
  test('of all pages have enough contrast', () => {
    const { accent, ground } = readPalette('light');
    const dark = readPalette('dark');
    expect(accent).toMatch(/^#/);
    const colors = {
      light: { accent, ground },
      dark: { accent: dark.accent, ground: dark.ground },
    };
    expect(contrastProblems(brandingSchema.parse({ colors }))).toEqual([]);
  });

  test.each([
    ['light', { accent: '#ffcc00' }, 'accent: gives a contrast of 1.51:1', '#ffffff (card)'],
    ['light', { accent: '#777777' }, 'accent: gives a contrast of 4.48:1', '#ffffff (card)'],
    ['light', { ground: '#303030' }, 'ground: gives a contrast of', '#0b5cad (accent)'],
    ['dark', { accent: '#0b5cad' }, 'accent: gives a contrast of', '#1a2129 (card)'],
    ['dark', { ground: '#dddddd' }, 'ground: gives a contrast of', '#7ab8ff (accent)'],
  ])('are rejected with the ratio: %s %j', (scheme, colors, ratio, other) => {
    const load1 = () => load({ colors: { [scheme]: colors } });
    expect(load1).toThrow(`BOOTSTRAP_FILE branding.colors.${scheme}.${ratio}`);
    expect(load1).toThrow(other);
    expect(load1).toThrow('WCAG AA needs 4.5:1');
  });

  test('are checked as the pages of an organization show them', () => {
    const colors = { light: { accent: '#767676' } };
    expect(
      load({ colors: { light: { ground: '#ffffff' } }, organizations: { a: { colors } } }),
    ).toBeDefined();
    expect(() => load({ organizations: { a: { colors } } })).toThrow(
      /branding\.organizations\.a\.colors\.light\.accent: .* and #edf1f6 \(ground\)/,
    );
  });
});

test('an organization replaces single members of the installation', () => {
  const links = { help: 'https://example.com/help', terms: 'https://example.com/terms' };
  const brandOf = resolveBrands({
    name: 'Example',
    links,
    organizations: { a: { name: 'A', links: { help: 'https://a.example/' } } },
  });
  expect(brandOf('a')).toMatchObject({
    name: 'A',
    links: { ...links, help: 'https://a.example/' },
  });
  expect([brandOf('b').name, brandOf(undefined).name]).toEqual(['Example', 'Example']);
});

describe('an image of a brand', () => {
  test('is read from its file, relative to the bootstrap file', () => {
    const branding = load({ logo: 'logo.svg', organizations: { a: { favicon: 'icon.png' } } });
    expect(branding?.logo).toMatchObject({
      type: 'image/svg+xml',
      hash: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(branding?.organizations.a?.favicon?.type).toBe('image/png');
  });

  test.each([
    ['missing.svg', 'names a file that cannot be read'],
    ['inline.svg', 'must name a PNG file, or an SVG file with xmlns='],
    ['page.svg', 'must name a PNG file'],
    ['large.svg', 'names a file of 32769 bytes. An image has at most 32768'],
    [{ type: 'image/png', hash: 'x' }, 'must be the path of an image'],
  ])('is rejected: %j', (logo, message) => {
    expect(() => load({ logo })).toThrow(`BOOTSTRAP_FILE branding.logo: ${message}`);
    expect(() => load({ organizations: { a: { logo } } })).toThrow(
      `branding.organizations.a.logo: ${message}`,
    );
  });
});

test.each([
  [{ links: { help: 'javascript:alert(1)' } }, 'branding.links.help: must be an https address'],
  [{ links: { help: 'http://example.com' } }, 'branding.links.help: must be an https address'],
  [{ colors: { light: { accent: 'red;}' } } }, 'branding.colors.light.accent: must be a color'],
  [{ paint: {} }, 'branding'],
])('a brand is rejected: %j', (branding, message) => {
  expect(() => load(branding)).toThrow(`BOOTSTRAP_FILE ${message}`);
});
