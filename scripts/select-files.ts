/** The test files in a folder, or the test files whose names have a suffix. */
export interface Suite {
  /** `test/compose`. Empty: every folder. */
  readonly folder: string;
  readonly suffix: string;
}

export interface Selection {
  /** Regular expressions. Jest runs the files that match one of them. */
  readonly patterns: readonly string[];
  readonly options: readonly string[];
}

/**
 * Selects the named files of a suite, or all of them. A name is a path or a part of one, with or
 * without its extension. Everything after the first option goes to Jest.
 */
export function selectFiles({ folder, suffix }: Suite, args: readonly string[]): Selection {
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const names = firstOption === -1 ? args : args.slice(0, firstOption);
  const pattern = (name: string) =>
    [folder === '' ? '' : `/${folder}/.*`, name, `.*${escapePattern(suffix)}$`].join('');
  return {
    patterns: names.length === 0 ? [pattern('')] : names.map((name) => pattern(inner(name))),
    options: firstOption === -1 ? [] : args.slice(firstOption),
  };

  function inner(name: string): string {
    const path = name.replace(/^\.\//, '').replace(/(?:\.slow)?(?:\.test)?\.ts$/, '');
    return escapePattern(path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path);
  }
}

function escapePattern(text: string): string {
  return text.replace(/[.+*?()[\]{}|^$\\]/g, '\\$&');
}
