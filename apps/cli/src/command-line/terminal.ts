import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { RejectedChangeError } from '@gatehouse/identity';
import type { Environment } from '@gatehouse/server/configuration';
import { type CommandInput, type Options, UsageError } from './command.ts';

const MAXIMUM_SECRET_CHARACTERS = 16_384;
const MAXIMUM_BYTES = 16 * 1024 * 1024;

export interface CliStreams {
  readonly environment: Environment;
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable;
  readonly errors: Writable;
}

export type Terminal = ReturnType<typeof createTerminal>;

/**
 * Reads secrets from a pipe or a prompt without echo. Shells would store arguments in their
 * history.
 */
export function createTerminal({ environment, input, output, errors }: CliStreams) {
  const isInteractive = input.isTTY === true;
  /**
   * A path relative to the folder of the caller. npm runs a script in the folder of the project, and
   * names the folder of the caller in `INIT_CWD`.
   */
  const pathOf = (path: string) => resolve(environment.INIT_CWD ?? '.', path);

  async function ask(prompt: string, isShown: boolean): Promise<string> {
    errors.write(prompt);
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({ input, output: isShown ? errors : silent, terminal: true });
    try {
      return await lines.question('');
    } finally {
      lines.close();
      errors.write('\n');
    }
  }

  return {
    isInteractive,
    /**
     * Reads standard input, or a line at the prompt.
     *
     * @throws UsageError if it is empty
     */
    async readSecret(prompt: string): Promise<string> {
      // Without the last line break. A password can contain every other character.
      const secret = isInteractive
        ? await ask(`${prompt}: `, false)
        : (await readAll(input, MAXIMUM_SECRET_CHARACTERS)).toString().replace(/\r?\n$/, '');
      if (secret === '') {
        throw new UsageError(`Standard input contains no ${prompt.toLowerCase()}.`);
      }
      return secret;
    },
    /** Resolves to false if standard input is not interactive. */
    confirm: async (prompt: string): Promise<boolean> =>
      isInteractive && /^y(es)?$/i.test(await ask(`${prompt} [y/N] `, true)),
    /** Prints a line before the command ends. */
    write: (line: string) => output.write(`${line}\n`),
    pathOf,
    /**
     * Reads a file, or standard input for `-`.
     *
     * @throws UsageError if it cannot be read, or is larger than 16 MiB
     */
    readBytes: (path: string): Promise<Buffer> =>
      path === '-'
        ? readAll(input, MAXIMUM_BYTES)
        : withFileErrors(path, readAll(createReadStream(pathOf(path)), MAXIMUM_BYTES)),
  };
}

async function readAll(input: Readable, maximum: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk));
    size += chunk.length;
    if (size > maximum) {
      throw new UsageError(`The input is larger than ${maximum} bytes.`);
    }
  }
  return Buffer.concat(chunks);
}

/** @throws UsageError for an error of the file system. Others stay as they are */
export async function withFileErrors<Result>(path: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) {
      throw error;
    }
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be used (${code})`;
    throw new UsageError(`The file ${path} ${reason}.`);
  }
}

export const yesOption: Options = { yes: 'Do not ask for confirmation.' };

/**
 * Asks before a change that revokes access. Without a terminal nobody can answer, so scripts add
 * `--yes`. Otherwise the command changes nothing and exits with 1.
 *
 * @throws RejectedChangeError without `--yes` and without confirmation at the prompt
 */
export async function assertConfirmed(
  { options }: CommandInput,
  terminal: Terminal,
  question: string,
): Promise<void> {
  if (options.yes !== true && !(await terminal.confirm(question))) {
    const advice = ` Add --yes to continue without a prompt: ${question}`;
    throw new RejectedChangeError(`Nothing was changed.${terminal.isInteractive ? '' : advice}`);
  }
}
