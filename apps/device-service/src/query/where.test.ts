import { describe, expect, test } from '@jest/globals';
import type { Condition } from './condition.ts';
import { column, parseQuery, querySubject } from './query.ts';
import { parseWhere } from './where.ts';

const label = { en: '', zh: '' };
const subject = querySubject(
  {
    name: column('text', 't.name'),
    size: column('integer', 't.size'),
    state: column('enum', 't.state', { on: label, off: label }),
  },
  { newestBy: 'name', tieBreak: 'same' },
);

/** Formats a condition for comparison. */
function show(condition: Condition | undefined): string {
  if (condition === undefined) {
    return '';
  }
  return condition.kind === 'comparison'
    ? `${condition.column} ${condition.operator} ${condition.values.join('|')}`.trim()
    : `(${condition.of.map(show).join(condition.kind === 'all' ? ' & ' : ' / ')})`;
}

describe('a where text', () => {
  test.each([
    ['', ''],
    ['  ', ''],
    ['name = a', 'name eq a'],
    ['name=a', 'name eq a'],
    ['size>=5', 'size gte 5'],
    ['NAME = a', undefined],
    ['name IS a AND size Gt 5', '(name eq a & size gt 5)'],
    ['name = a and size = 1 or state = on', '((name eq a & size eq 1) / state eq on)'],
    ['name = a and (size = 1 or state = on)', '(name eq a & (size eq 1 / state eq on))'],
    ['((name = a))', 'name eq a'],
    ["name = 'a and b'", 'name eq a and b'],
    ['name = "it\'s"', "name eq it's"],
    ["name = 'it''s'", "name eq it's"],
    ["name = 'and'", 'name eq and'],
    ['name = and', undefined],
    ['name = a=b', 'name eq a=b'],
    ['size in 1,2,3', 'size in 1|2|3'],
    ['size in (1, 2,3)', 'size in 1|2|3'],
    ["name in ('a,b', c)", 'name in a,b|c'],
    ['size btw 1,5', 'size btw 1|5'],
    ['size btw 1', undefined],
    ['size btw 1,2,3', undefined],
    ['name$like = a%', undefined],
    ['name empty and size notnull', '(name empty  & size notnull 0)'],
    ['state = {"value":"on"}', undefined],
    ['size = 9007199254740993', undefined],
    ['size = 1e3', undefined],
    ['name', undefined],
    ['= a', undefined],
    ['not name = a', undefined],
  ])('%j', (where, expected) => {
    if (expected === undefined) {
      expect(() => parseWhere(where, subject.columns)).toThrow(/^where: at character \d+: /);
    } else {
      expect(show(parseWhere(where, subject.columns)).trim().replace('empty &', 'empty  &')).toBe(
        expected,
      );
    }
  });

  test('has the same meaning as its JSON and GET forms', () => {
    const text = parseQuery({ where: 'name like a% and size gt 5 or state = on' }, subject);
    const json = parseQuery(
      {
        terms: [
          { column: 'name', termType: 'like', value: 'a%' },
          { column: 'size$gt', value: 5 },
          { column: 'state', value: { text: 'On', value: 'on' }, type: 'or' },
        ],
      },
      subject,
    );
    const get = parseQuery(
      new URLSearchParams(
        'terms[3].column=state&terms[3].value=on&terms[3].type=or&terms[0].column=name' +
          '&terms[0].termType=like&terms[0].value=a%25&terms[1].column=size$gt&terms[1].value=5',
      ),
      subject,
    );

    expect(json).toEqual(text);
    expect(get).toEqual(text);
  });

  test.each([
    '('.repeat(8000),
    `name = ${"'".repeat(8001)}`,
    Array.from({ length: 600 }, () => 'size = 1').join(' or '),
    'x'.repeat(1_000_000),
  ])('of extreme size is rejected: %#', (where) => {
    expect(() => parseQuery({ where }, subject)).toThrow(/^where: /);
  });
});
