import { describe, expect, test } from '@jest/globals';
import { cacheStatements } from './sqlite-statement-cache.ts';

function preparing(capacity: number) {
  const prepared: string[] = [];
  const statementOf = cacheStatements((text) => {
    prepared.push(text);
    return { text };
  }, capacity);
  return { prepared, statementOf };
}

describe('cacheStatements', () => {
  test('prepares a text once', () => {
    const { prepared, statementOf } = preparing(2);

    expect(statementOf('a')).toBe(statementOf('a'));
    expect(prepared).toEqual(['a']);
  });

  test('forgets the text that was used least recently beyond its capacity', () => {
    const { prepared, statementOf } = preparing(2);

    for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) {
      statementOf(text);
    }
    expect(prepared).toEqual(['a', 'b', 'c', 'b']);
  });

  test('keeps no long text, such as a batch', () => {
    const { prepared, statementOf } = preparing(2);
    const batch = `insert ${'?'.repeat(5000)}`;

    statementOf('a');
    statementOf(batch);
    statementOf(batch);
    statementOf('a');
    expect(prepared).toEqual(['a', batch, batch]);
  });

  test('keeps nothing if a text cannot be prepared', () => {
    const attempts: string[] = [];
    const statementOf = cacheStatements((text) => {
      attempts.push(text);
      throw new Error('syntax');
    }, 2);

    expect(() => statementOf('a')).toThrow('syntax');
    expect(() => statementOf('a')).toThrow('syntax');
    expect(attempts).toEqual(['a', 'a']);
  });
});
