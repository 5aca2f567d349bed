import type { SigningMistake } from './signing-mistake.ts';

/** A text that a signer may have signed instead of the right one. */
export interface MistakenText {
  readonly mistakes: readonly SigningMistake[];
  readonly text: string;
}

/** Texts that differ from the sent one in line endings only. */
export function newlineTexts(sent: string): readonly MistakenText[] {
  const lines = sent.replaceAll('\r\n', '\n');
  return [
    { mistakes: ['trailing_newline'], text: sent.replace(/[\r\n]+$/, '') },
    { mistakes: ['trailing_newline'], text: `${sent}\n` },
    { mistakes: ['line_endings'], text: lines },
    { mistakes: ['line_endings'], text: lines.replaceAll('\n', '\r\n') },
  ];
}
