import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { UsageError } from './command.ts';

/**
 * Reads secrets from a pipe or a prompt without echo. Shells would store arguments in their
 * history.
 */
export interface Terminal {
  readonly isInteractive: boolean;
  /**
   * Reads standard input, or a line at the prompt.
   *
   * @throws UsageError if it is empty
   */
  readSecret(prompt: string): Promise<string>;
  /** Resolves to false if standard input is not interactive. */
  confirm(prompt: string): Promise<boolean>;
  /** Prints a line before the command ends. */
  write(line: string): void;
}

const MAXIMUM_SECRET_CHARACTERS = 16_384;

export function createTerminal(streams: {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable;
  readonly errors: Writable;
}): Terminal {
  const { input, output, errors } = streams;
  const isInteractive = input.isTTY === true;

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
    async readSecret(prompt) {
      const secret = isInteractive ? await ask(`${prompt}: `, false) : await readLine(input);
      if (secret === '') {
        throw new UsageError(`Standard input contains no ${prompt.toLowerCase()}.`);
      }
      return secret;
    },
    confirm: async (prompt) =>
      isInteractive && /^y(es)?$/i.test(await ask(`${prompt} [y/N] `, true)),
    write: (line) => output.write(`${line}\n`),
  };
}

/** Reads to the end, without the last line break. A password can contain every other character. */
async function readLine(input: Readable): Promise<string> {
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.length > MAXIMUM_SECRET_CHARACTERS) {
      throw new UsageError(
        `Standard input must contain only the secret, at most ${MAXIMUM_SECRET_CHARACTERS} characters.`,
      );
    }
  }
  return text.replace(/\r?\n$/, '');
}
