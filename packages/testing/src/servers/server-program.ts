import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../until.ts';
import { endWithThisProcess } from './app-process.ts';

const START_SECONDS = 30;

interface ServerProgram {
  launch(): ChildProcess;
  isReady(): Promise<boolean>;
  /** By default, the signal goes to the first process alone. */
  signal?(child: ChildProcess, name: NodeJS.Signals): void;
}

/** Starts a server program, which a test can kill, freeze and start again. */
export async function startServerProgram({ launch, isReady, signal = sendTo }: ServerProgram) {
  let child: ChildProcess;

  async function start(): Promise<void> {
    const launched = launch();
    child = launched;
    endWithThisProcess(launched, () => send('SIGKILL'));
    const failure = new Promise<never>((_resolve, reject) => {
      launched.once('error', reject);
      const fail = (code: number) => reject(new Error(`${launched.spawnfile} ended with ${code}.`));
      launched.once('close', fail);
    });
    await Promise.race([until(isReady, START_SECONDS), failure]);
  }

  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  function send(name: NodeJS.Signals): void {
    if (!hasEnded()) {
      signal(child, name);
    }
  }

  async function end(signalIt: () => void): Promise<void> {
    if (!hasEnded()) {
      const closed = once(child, 'close');
      signalIt();
      await closed;
    }
  }

  /** Sends SIGKILL: connections break, and nothing is saved. */
  const kill = () => end(() => send('SIGKILL'));
  await start();
  return {
    /** The process that was started first. */
    pid: () => child.pid ?? 0,
    kill,
    /** Sends SIGINT to the first process. */
    shutDown: () => end(() => child.kill('SIGINT')),
    /** Starts it again, and waits until it answers. */
    async restart() {
      await kill();
      await start();
    },
    /** Connections stay open without replies. */
    freeze: () => send('SIGSTOP'),
    thaw: () => send('SIGCONT'),
  };
}

const sendTo = (child: ChildProcess, name: NodeJS.Signals) => child.kill(name);
