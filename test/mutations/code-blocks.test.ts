import { describe, expect, test } from '@jest/globals';
import { blockAround, listBlocks, markBlocks } from './code-blocks.ts';

const source = 'const f = (a) => a ? 1 : 2;\nfunction g(b) { if (b) { h(); } return b; }\n';
const blocks = listBlocks('a.ts', source);

describe('the blocks of a source text', () => {
  test('are the file, bodies of functions and nested blocks', () => {
    expect(blocks.map(({ start, end }) => source.slice(start, end))).toEqual([
      source,
      'a ? 1 : 2',
      '{ if (b) { h(); } return b; }',
      '{ h(); }',
    ]);
  });

  test('keep their names after a change outside of them', () => {
    const changed = listBlocks('a.ts', `const c = 1;\n${source}`);
    expect(changed.slice(1).map(({ name }) => name)).toEqual(blocks.slice(1).map((b) => b.name));
  });

  test.each([
    ['f', 0],
    ['1 : 2', 1],
    ['return', 2],
    ['h()', 3],
  ])('contain %s in block %i', (text, index) => {
    const start = source.indexOf(text);
    const change = { start, end: start + text.length };
    expect(blockAround(blocks, change)).toBe(blocks[index]);
  });

  test('report each executed block once', () => {
    const reached: string[] = [];
    const report = (line: string) => reached.push(line.trim());
    const marked = markBlocks(source, blocks, 'reached.log').replace(/^import .*?;/, '');
    new Function('appendToReached', 'h', `${marked}; f(1); f(2); g(false);`)(
      (_file: string, line: string) => report(line),
      () => undefined,
    );
    expect(reached).toEqual([blocks[0], blocks[1], blocks[2]].map((block) => block?.name));
  });
});
