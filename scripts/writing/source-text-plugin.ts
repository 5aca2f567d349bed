import {
  ASTNodeTypes,
  type TxtDocumentNode,
  type TxtParagraphNode,
} from '@textlint/ast-node-types';
import type { TextlintMessage, TextlintPluginCreator } from '@textlint/types';
import jsTokens, { type Token } from 'js-tokens';

/**
 * Lets textlint read source code. Each comment is a paragraph, and so is each string with a space
 * in it: a message, a page text, a test title. Code and single words are not prose.
 */
export const sourceTextPlugin: TextlintPluginCreator = {
  Processor: class {
    availableExtensions() {
      return ['.ts', '.mjs'];
    }

    processor() {
      return {
        preProcess: toDocument,
        postProcess: (messages: TextlintMessage[], filePath = '<text>') => ({ messages, filePath }),
      };
    }
  },
};

interface Passage {
  readonly start: number;
  readonly end: number;
}

function toDocument(text: string): TxtDocumentNode {
  return {
    type: ASTNodeTypes.Document,
    children: findPassages(text).map((passage) => toParagraph(text, passage)),
    ...place(text, { start: 0, end: text.length }),
  };
}

function findPassages(text: string): readonly Passage[] {
  const passages: Passage[] = [];
  let start = 0;
  let follows: Token['type'] | undefined;
  for (const token of jsTokens(text)) {
    const end = start + token.value.length;
    if (token.type === 'SingleLineComment' && follows === 'SingleLineComment') {
      passages.push({ start: passages.pop()?.start ?? start, end });
    } else if (/Comment$/.test(token.type)) {
      passages.push({ start, end });
    } else if (/^String|Template/.test(token.type) && /\S\s+\S/.test(token.value)) {
      passages.push({ start: start + 1, end: end - (token.value.endsWith('${') ? 2 : 1) });
    }
    follows = isSpace(token) ? follows : token.type;
    start = end;
  }
  return passages;
}

function isSpace({ type }: Token): boolean {
  return type === 'WhiteSpace' || type === 'LineTerminatorSequence';
}

function toParagraph(text: string, passage: Passage): TxtParagraphNode {
  const placed = place(text, passage);
  return {
    type: ASTNodeTypes.Paragraph,
    children: [{ type: ASTNodeTypes.Str, value: placed.raw, ...placed }],
    ...placed,
  };
}

function place(text: string, { start, end }: Passage) {
  return {
    raw: text.slice(start, end),
    range: [start, end] as const,
    loc: { start: positionOf(text, start), end: positionOf(text, end) },
  };
}

function positionOf(text: string, offset: number) {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: lines.at(-1)?.length ?? 0 };
}
