import type { SigningMistake } from './signing-mistake.ts';
import { MAXIMUM_SPELLED_LENGTH } from './work-limit.ts';

/** A text that a signer may have signed instead of the right one. */
export interface MistakenText {
  readonly mistakes: readonly SigningMistake[];
  readonly text: string;
}

/** Texts that differ from the sent one in line endings only. Nothing if the text is long. */
export function newlineTexts(sent: string): readonly MistakenText[] {
  if (sent.length > MAXIMUM_SPELLED_LENGTH) {
    return [];
  }
  const lines = sent.replaceAll('\r\n', '\n');
  return [
    { mistakes: ['trailing_newline'], text: withoutLastNewlines(sent) },
    { mistakes: ['trailing_newline'], text: `${sent}\n` },
    { mistakes: ['line_endings'], text: lines },
    { mistakes: ['line_endings'], text: lines.replaceAll('\n', '\r\n') },
  ];
}

/** A regular expression would try every newline of the text as the first of the last ones. */
function withoutLastNewlines(text: string): string {
  let end = text.length;
  while (end > 0 && '\r\n'.includes(text.charAt(end - 1))) {
    end -= 1;
  }
  return text.slice(0, end);
}
