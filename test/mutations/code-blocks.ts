import { createHash } from 'node:crypto';
import { children, type Node, parseTree, rangeOf } from './syntax-tree.ts';

/** A part of a file that runs from its start: the file, a block, or the value of an arrow. */
export interface CodeBlock {
  /** The path and a digest of the text, so that changes elsewhere do not rename the block. */
  readonly name: string;
  /** Byte offsets. */
  readonly start: number;
  readonly end: number;
  readonly isExpression: boolean;
}

/** Outer blocks precede their inner blocks. */
export function listBlocks(path: string, source: string): readonly CodeBlock[] {
  const bytes = Buffer.from(source);
  const blocks: CodeBlock[] = [{ name: path, start: 0, end: bytes.length, isExpression: false }];
  const add = (node: Node, isExpression: boolean) => {
    const [start, end] = rangeOf(node);
    const digest = createHash('sha256').update(bytes.subarray(start, end)).digest('hex');
    const name = `${path}#${digest.slice(0, 12)}`;
    const repeated = blocks.filter((block) => block.name.startsWith(name)).length;
    blocks.push({ name: repeated > 0 ? `${name}-${repeated}` : name, start, end, isExpression });
  };
  const visit = (node: Node) => {
    const body = node.body as Node | null | undefined;
    if (/^(BlockStatement|FunctionBody)$/.test(node.type)) {
      add(node, false);
    } else if (/^Arrow/.test(node.type) && body && !/^(Block|Function)/.test(body.type)) {
      add(body, true);
    }
    children(node).forEach(visit);
  };
  visit(parseTree(source));
  return blocks.sort((one, other) => one.start - other.start || other.end - one.end);
}

/** Returns the innermost block that contains the change. */
export function blockAround(
  blocks: readonly CodeBlock[],
  change: { readonly start: number; readonly end: number },
): CodeBlock {
  const around = blocks.filter(({ start, end }) => start <= change.start && change.end <= end);
  return around.at(-1) as CodeBlock;
}

/** Returns a source text that appends the name of each executed block to a file, once. */
export function markBlocks(source: string, blocks: readonly CodeBlock[], log: string): string {
  const insertions = blocks.flatMap(({ name, start, end, isExpression }) => {
    const mark = `markReached(${JSON.stringify(name)})`;
    if (isExpression) {
      return [
        { at: start, text: `(${mark}, (`, isEnd: false },
        { at: end, text: '))', isEnd: true },
      ];
    }
    const isFile = start === 0 && !name.includes('#');
    return [
      {
        at: isFile ? 0 : start + 1,
        text: isFile ? `${preamble(log)}${mark};` : `${mark};`,
        isEnd: false,
      },
    ];
  });
  const bytes = Buffer.from(source);
  let marked = '';
  let copied = 0;
  // At the same place, an inner block ends before an outer block, and starts after it.
  for (const { at, text } of insertions.sort(
    (one, other) => one.at - other.at || Number(other.isEnd) - Number(one.isEnd),
  )) {
    marked += bytes.toString('utf8', copied, at) + text;
    copied = at;
  }
  return marked + bytes.toString('utf8', copied);
}

/** `var`, because functions run before the first line of their file if imports are circular. */
function preamble(log: string): string {
  return [
    "import { appendFileSync as appendToReached } from 'node:fs';",
    'var reached;',
    'function markReached(name) { reached ??= new Set();',
    `if (!reached.has(name)) { reached.add(name); appendToReached(${JSON.stringify(log)}, name + '\\n'); } }`,
  ].join(' ');
}
