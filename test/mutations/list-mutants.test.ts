import { describe, expect, test } from '@jest/globals';
import { applyMutant, listMutants } from './list-mutants.ts';

const changed = (source: string) =>
  listMutants(source).map((mutant) => applyMutant(source, mutant));

describe('the mutants of a source text', () => {
  test.each([
    ['if (a) b();', ['if (true) b();', 'if (false) b();', 'if (a) ;']],
    ['const x = a === b;', ['const x = a !== b;']],
    ['const x = a < (b);', ['const x = a <= (b);']],
    ['const x = a && b;', ['const x = a || b;']],
    ['const x = !a;', ['const x = a;']],
    ['const x = a ? b : c;', ['const x = !(a) ? b : c;']],
    ['const x = [0, ...a];', ['const x = [...a];', 'const x = [1, ...a];', 'const x = [0, ];']],
    ['const x = 5_000;', ['const x = 10000;']],
    ['const x = /^é$/;', ['const x = /é$/;', 'const x = /^é/;']],
    ['await a();', [';', 'void a();']],
    ['const x = list.some(is);', ['const x = list.every(is);']],
  ])('%s', (source, mutants) => {
    expect(new Set(changed(source))).toEqual(new Set(mutants));
  });

  test('count bytes, as the parser does', () => {
    expect(changed("const text = 'für 1 €'; const x = a && b;")).toEqual([
      "const text = 'für 1 €'; const x = a || b;",
    ]);
  });

  test('know the code that no longer runs, if there is any', () => {
    const source = 'if (a) { b(); } else { c(); }';
    const skipped = listMutants(source).map(({ replacement, skipped }) => [replacement, skipped]);
    expect(skipped).toEqual([
      ['false', source.indexOf('{ b') + 1],
      ['true', source.indexOf('{ c') + 1],
      [';', undefined],
      [';', undefined],
    ]);
  });

  test('skip types, imports and texts', () => {
    const source = "import { a } from 'a'; type B = 1 | true; const x = a + 'b' as 'b';";
    expect(changed(source)).toEqual([]);
  });

  test('skip log lines, names of errors and unref', () => {
    const source = "logger.warn({ a: !b }, 'text'); this.name = 'AError'; timer.unref();";
    expect(changed(source)).toEqual([]);
  });

  test('of a function that returns no value contain an early return', () => {
    expect(changed('function f() { const x = a; g(x); }')).toContain(
      'function f() { return; g(x); }',
    );
  });
});
