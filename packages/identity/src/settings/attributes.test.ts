import { expect, test } from '@jest/globals';
import {
  assertAttributes,
  attributeDeclarations,
  attributesSchema,
  readAttribute,
} from './attributes.ts';

const declared = attributeDeclarations.parse({
  department: { type: 'string', scope: 'profile' },
  level: { type: 'number', scope: 'groups' },
  external: { type: 'boolean', scope: 'groups' },
  plants: { type: 'strings', scope: 'groups' },
});

test('An entered attribute has the declared type.', () => {
  expect(readAttribute('department', '7', declared)).toBe('7');
  expect(readAttribute('level', '7', declared)).toBe(7);
  expect(readAttribute('external', 'true', declared)).toBe(true);
  expect(readAttribute('plants', 'a, b', declared)).toEqual(['a', 'b']);
  for (const [name, entered] of [
    ['level', 'seven'],
    ['level', 'true'],
    ['external', '1'],
    ['external', '{'],
  ] as const) {
    expect(() => readAttribute(name, entered, declared)).toThrow('must be of the type');
  }
  expect(() => readAttribute('constructor', 'x', declared)).toThrow('is not declared');
});

test('A stored attribute must be declared with its type.', () => {
  expect(() => assertAttributes({ level: 1, plants: [] }, declared)).not.toThrow();
  expect(() => assertAttributes({ level: '1' }, declared)).toThrow('must be of the type number');
  expect(() => assertAttributes({ other: 1 }, declared)).toThrow('other is not declared');
});

test('All attributes of a user have at most 4 KiB.', () => {
  const fitting = 'a'.repeat(4096 - '{"department":""}'.length);
  expect(attributesSchema.safeParse({ department: fitting }).success).toBe(true);
  expect(attributesSchema.safeParse({ department: `${fitting}a` }).success).toBe(false);
  expect(attributesSchema.safeParse({ department: { deep: true } }).success).toBe(false);
});

test.each(['sub', 'roles', 'email', 'scope', 'Department', '', 'a-b'])(
  'No attribute is called %j.',
  (name) => {
    const declaration = Object.fromEntries([[name, { type: 'string', scope: 'profile' }]]);
    expect(attributeDeclarations.safeParse(declaration).success).toBe(false);
  },
);
