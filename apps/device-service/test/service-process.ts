import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** `src/main.ts` as a process of its own, on free ports. */
export interface ServiceProcess {
  readonly url: string;
  readonly operationsUrl: string;
  /** Everything it wrote so far, to both streams. */
  output(): string;
  /** Ends it with the signal and waits until it is gone; resolves to its exit code. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;

export async function startServiceProcess(
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const child = spawnMain({ DEVICE_SERVICE_PORT: '0', OPERATIONS_PORT: '0', ...environment });
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk;
    });
  }
  const { port, operationsPort } = await readListeningLine(child);
  return {
    url: `http://127.0.0.1:${port}`,
    operationsUrl: `http://127.0.0.1:${operationsPort}`,
    output: () => output,
    end: async (signal) => {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

/** For a start that is expected to be refused: how it ended and what it said. */
export async function runUntilExit(
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const child = spawnMain(environment);
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, stderr };
}

function spawnMain(environment: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, [MAIN], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function readListeningLine(child: ChildProcess) {
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  if (child.stdout !== null) {
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) {
      const event = JSON.parse(line);
      if (event.msg === 'listening') {
        lines.close();
        child.stdout.resume();
        return event as { readonly port: number; readonly operationsPort: number };
      }
    }
  }
  throw new Error(`The device service did not start: ${stderr}`);
}
