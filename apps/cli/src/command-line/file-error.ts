import { UsageError } from './command.ts';

/** An error of the file system as one for the operator. Others stay as they are. */
export function fileError(path: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) {
    return error;
  }
  const reason = code === 'ENOENT' ? 'does not exist' : `cannot be used (${code})`;
  return new UsageError(`The file ${path} ${reason}.`);
}
