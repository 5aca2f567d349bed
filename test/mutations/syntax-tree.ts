import { parseSync } from '@swc/core';

/** A node of the parser. Every node has a type, and most have a span. */
export interface Node {
  readonly type: string;
  readonly span?: { readonly start: number; readonly end: number };
  readonly [member: string]: unknown;
}

/** Spans of the parser start at 1. */
const BASE = 1;

export function parseTree(source: string): Node {
  return parseSync(source, { syntax: 'typescript', target: 'es2022' }) as unknown as Node;
}

/** Byte offsets, because the parser counts bytes. */
export function rangeOf({ span }: Node): readonly [number, number] {
  return [(span?.start ?? BASE) - BASE, (span?.end ?? BASE) - BASE];
}

/** Types have no effect at run time, so they are no children. */
export function children(node: Node): readonly Node[] {
  const isErased = /^(Ts|Import|ExportNamed|ExportAll)/.test(node.type);
  const members = isErased ? [node.expression] : Object.values(node);
  return members.flat().flatMap(nodesOf);
}

function nodesOf(value: unknown): readonly Node[] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  if ('type' in value && typeof value.type === 'string') {
    return [value as Node];
  }
  // Arguments and elements are wrapped: { spread, expression }.
  return Object.values(value).flat().flatMap(nodesOf);
}
