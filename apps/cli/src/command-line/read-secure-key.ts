import {
  type CommandInput,
  type OfflineContext,
  type Option,
  text,
  UsageError,
} from './command.ts';

export const keyFileOption: Option = {
  type: 'string',
  description: 'File with the secure key. Default: standard input, or a prompt.',
};

/** Never an argument: shells store arguments in their history, and other users see them. */
export const keyNote = 'Enter the secure key in a file, at the prompt or on standard input.';

/**
 * @param usesInput whether another option reads standard input
 * @throws UsageError if there is no key, or if two options read standard input
 */
export async function readSecureKey(
  { options }: CommandInput,
  { terminal, readBytes }: OfflineContext,
  usesInput: boolean,
): Promise<string> {
  const file = text(options['key-file']);
  if (usesInput && (file === undefined || file === '-')) {
    throw new UsageError('Standard input is in use. Name the file with the secure key: --key-file');
  }
  if (file === undefined || file === '-') {
    return terminal.readSecret('Secure key');
  }
  // Editors end a file with a line break. Keys contain none.
  const key = (await readBytes(file)).toString('utf8').replace(/\r?\n$/, '');
  if (key === '') {
    throw new UsageError(`The file ${file} contains no secure key.`);
  }
  return key;
}

/** A note for a key that was probably copied with whitespace. Never contains the key. */
export function keyProblem(key: string): string | undefined {
  return key.trim() === key
    ? undefined
    : 'The secure key begins or ends with whitespace. Gatehouse generates no such key.';
}
