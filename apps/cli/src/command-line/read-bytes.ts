import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Environment } from '@gatehouse/server/configuration';
import { callerPath } from './caller-path.ts';
import { type OfflineContext, UsageError } from './command.ts';
import { fileError } from './file-error.ts';

const MAXIMUM_BYTES = 16 * 1024 * 1024;

export function createByteReader({
  environment,
  input,
}: {
  readonly environment: Environment;
  readonly input: Readable;
}): OfflineContext['readBytes'] {
  return async (path) => {
    const bytes =
      path === '-' ? await readAll(input) : await readWhole(callerPath(path, environment));
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
    throw fileError(path, error);
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
