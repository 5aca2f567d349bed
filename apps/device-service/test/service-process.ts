import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { processEnvironment } from '@gatehouse/testing';

/** `src/main.ts` in a separate process, on free ports. */
export interface ServiceProcess {
  readonly pid: number;
  readonly url: string;
  readonly operationsUrl: string;
  /** The output so far, of both streams. */
  output(): string;
  /** Sends the signal, waits for the exit, and resolves to the exit code. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

const ROOT = new URL('../../..', import.meta.url).pathname;

export interface ServiceProcessOptions {
  /** The root of another checkout whose service runs. */
  readonly checkout?: string;
  /**
   * Mounts an in-memory file system of this size over the folder, only for this process. Needs
   * root.
   */
  readonly smallDisk?: { readonly folder: string; readonly megabytes: number };
}

export async function startServiceProcess(
  environment: Readonly<Record<string, string>>,
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  const child = spawnMain(
    { DEVICE_SERVICE_PORT: '0', OPERATIONS_PORT: '0', ...environment },
    options,
  );
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk;
    });
  }
  const { port, operationsPort } = await readListeningLine(child);
  return {
    pid: child.pid ?? 0,
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

/** The mount is in the namespace of the process, so it ends with the process. */
function spawnMain(
  environment: Readonly<Record<string, string>>,
  { smallDisk, checkout = ROOT }: ServiceProcessOptions = {},
): ChildProcess {
  const main = join(checkout, 'apps/device-service/src/main.ts');
  const options: SpawnOptions = {
    env: { ...processEnvironment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  };
  if (smallDisk === undefined) {
    return spawn(process.execPath, [main], options);
  }
  const { folder, megabytes } = smallDisk;
  const mount = `mount -t tmpfs -o size=${megabytes}m tmpfs ${folder} && exec "$@"`;
  return spawn(
    '/usr/bin/unshare',
    ['--mount', 'sh', '-c', mount, 'sh', process.execPath, main],
    options,
  );
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
