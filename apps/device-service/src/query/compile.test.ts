import { describe, expect, test } from '@jest/globals';
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import { compileCondition, toGlob } from './pages.ts';
import { column, parseQuery, querySubject } from './query.ts';

const database = new Kysely<{ t: { name: string } }>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

const subject = querySubject(
  { name: column('text', 't.name') },
  { newestBy: 'name', tieBreak: 'same' },
);

describe('a compiled condition', () => {
  test('passes every value as a parameter, and has none in its text', () => {
    const hostile = `x' or 1=1; drop table devices --`;
    const { condition } = parseQuery(
      {
        terms: [
          { column: 'name', value: hostile },
          { column: 'name', termType: 'like', value: `%${hostile}%`, type: 'or' },
          { column: 'name', termType: 'nin', value: [hostile, 'b'] },
          { column: 'name', termType: 'nbtw', value: ['a', hostile] },
        ],
      },
      subject,
    );
    if (condition === undefined) {
      throw new Error('The condition is missing.');
    }
    for (const engine of ['postgres', 'sqlite'] as const) {
      const compiled = database
        .selectFrom('t')
        .where(compileCondition(condition, subject.columns, engine))
        .compile();

      expect(compiled.sql).not.toContain('drop');
      expect(compiled.parameters).toHaveLength(6);
      expect(compiled.parameters.filter((value) => String(value).includes('drop'))).toHaveLength(4);
    }
  });

  test.each([
    ['abc%', 'abc*'],
    ['a_c', 'a?c'],
    ['100\\%', '100%'],
    ['\\_\\\\', '_\\'],
    ['*[a]?', '[*][[]a][?]'],
    ['\\*', '[*]'],
  ])('%s is %s for SQLite', (pattern, glob) => {
    expect(toGlob(pattern)).toBe(glob);
  });
});
