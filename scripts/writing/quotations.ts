/**
 * Texts that may contain rejected words, because they quote them: the glossary of CONTRIBUTING.md
 * and examples of what not to write. A text, or `/expression/flags`.
 */
export const quotations: readonly string[] = [
  '/"The gateway rejects the request", not "it is\\s+refused"/',
  '| person, somebody |',
  '| administrator |',
  '| is refused |',
  '| end, die, take back |',
];
