import { PassThrough } from 'node:stream';
import { runCli } from '../src/cli.ts';

export interface CliReply {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape that it expects
  readonly json: any;
}

/** Runs a command in this process, with `stdin` piped or typed. */
export async function runGatehouse(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
  stdin: string | { readonly typed: readonly string[] } = '',
): Promise<CliReply> {
  const input = Object.assign(new PassThrough(), { isTTY: typeof stdin !== 'string' });
  const streams = { output: new PassThrough(), errors: new PassThrough() };
  if (typeof stdin === 'string') {
    input.end(stdin);
  } else {
    type(stdin.typed, input, streams.errors);
  }
  const code = await runCli(args, { environment, input, ...streams });
  const output = String(streams.output.read() ?? '');
  const errors = String(streams.errors.read() ?? '');
  const json = args.includes('--json') ? JSON.parse(output || errors) : undefined;
  return { code, output, errors, json };
}

/** Types an answer at each prompt. */
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
