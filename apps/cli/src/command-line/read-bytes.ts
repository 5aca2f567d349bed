import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Environment } from '@gatehouse/configuration';
import { type OfflineContext, UsageError } from './command.ts';

const MAXIMUM_BYTES = 16 * 1024 * 1024;

export function createByteReader({
  environment,
  input,
}: {
  readonly environment: Environment;
  readonly input: Readable;
}): OfflineContext['readBytes'] {
  // npm runs a script in the folder of the project, and names the folder of the caller here.
  const folder = environment.INIT_CWD ?? '.';
  return async (path) => {
    const bytes = path === '-' ? await readAll(input) : await readWhole(resolve(folder, path));
    if (bytes.length > MAXIMUM_BYTES) {
      throw tooLarge();
    }
    return bytes;
  };
}

async function readWhole(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new UsageError(`The file ${path} ${reason}.`);
  }
}

async function readAll(input: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk));
    size += chunk.length;
    if (size > MAXIMUM_BYTES) {
      throw tooLarge();
    }
  }
  return Buffer.concat(chunks);
}

function tooLarge(): UsageError {
  return new UsageError('The input is larger than 16 MiB.');
}
