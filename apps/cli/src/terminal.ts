import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { UsageError } from './command.ts';

/** How a secret gets in: piped, or typed without being shown. Never as an argument: shells remember those. */
export interface Terminal {
  readonly isInteractive: boolean;
  /** One line of standard input, or what is typed at the prompt. @throws UsageError when it is empty */
  readSecret(prompt: string): Promise<string>;
  /** Asked at a keyboard only. */
  confirm(prompt: string): Promise<boolean>;
  /** For what goes on: a followed audit trail. */
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
        throw new UsageError(`No ${prompt.toLowerCase()} was given on standard input.`);
      }
      return secret;
    },
    confirm: async (prompt) => isInteractive && (await ask(`${prompt} [y/N] `, true)) === 'y',
    write: (line) => output.write(`${line}\n`),
  };
}

/** All of a pipe, without its last line break: a password may hold any other character. */
async function readLine(input: Readable): Promise<string> {
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.length > MAXIMUM_SECRET_CHARACTERS) {
      throw new UsageError('Standard input holds more than a secret.');
    }
  }
  return text.replace(/\r?\n$/, '');
}
