import { PassThrough } from 'node:stream';
import { runCli } from '../src/cli.ts';

export interface CliReply {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever shape a test expects
  readonly json: any;
}

/** Runs a command in this process, with words on standard input where there are any. */
export async function runGatehouse(
  environment: Readonly<Record<string, string>>,
  words: readonly string[],
  stdin: string | { readonly typed: readonly string[] } = '',
): Promise<CliReply> {
  const input = Object.assign(new PassThrough(), { isTTY: typeof stdin !== 'string' });
  const streams = { output: new PassThrough(), errors: new PassThrough() };
  if (typeof stdin === 'string') {
    input.end(stdin);
  } else {
    type(stdin.typed, input, streams.errors);
  }
  const code = await runCli(words, { environment, input, ...streams });
  const output = String(streams.output.read() ?? '');
  const errors = String(streams.errors.read() ?? '');
  const json = words.includes('--json') ? JSON.parse(output || errors) : undefined;
  return { code, output, errors, json };
}

/** Answers each prompt as it appears, like a person. */
function type(answers: readonly string[], input: PassThrough, prompts: PassThrough): void {
  const left = [...answers];
  const write = prompts.write.bind(prompts);
  Object.assign(prompts, {
    write(text: string) {
      const answer = text === '\n' ? undefined : left.shift();
      if (answer !== undefined) {
        setTimeout(() => input.write(`${answer}\r`), 5);
      }
      return write(text);
    },
  });
}
