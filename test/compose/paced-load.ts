import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Call {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PATCH';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface LoadReport {
  readonly sent: number;
  /**
   * The count of each outcome: 200, another status with its body, or the code of a broken
   * connection.
   */
  readonly outcomes: Readonly<Record<string, number>>;
}

export interface PacedLoad {
  /** Resolves when all replies have arrived. */
  stop(): Promise<LoadReport>;
}

const TICK_MILLISECONDS = 20;

/**
 * Sends this many requests per second without waiting, so that a slow reply delays no other
 * request.
 */
export function startPacedLoad(
  requestsPerSecond: number,
  nextCall: (turn: number) => Call,
): PacedLoad {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const outcomes = new Map<string, number>();
  const open = new Set<Promise<void>>();
  let sent = 0;
  let stopped = false;

  async function send(turn: number): Promise<void> {
    const outcome = await outcomeOf(nextCall(turn), agent);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }

  async function run(): Promise<void> {
    const begun = performance.now();
    while (!stopped) {
      const due = ((performance.now() - begun) / 1000) * requestsPerSecond;
      while (sent < due) {
        const sending = send(sent);
        sent += 1;
        open.add(sending);
        void sending.then(() => open.delete(sending));
      }
      await sleep(TICK_MILLISECONDS);
    }
  }

  const running = run();
  return {
    async stop() {
      stopped = true;
      await running;
      await Promise.all(open);
      agent.destroy();
      return { sent, outcomes: Object.fromEntries([...outcomes].sort()) };
    },
  };
}

function outcomeOf(
  { url, method = 'GET', headers = {}, body }: Call,
  agent: Agent,
): Promise<string> {
  return new Promise((resolve) => {
    const fail = (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message);
    const sending = request(
      url,
      { method, headers, agent, timeout: 30_000 },
      (reply: IncomingMessage) => {
        let text = '';
        reply.setEncoding('utf8').on('data', (chunk: string) => {
          text += reply.statusCode === 200 ? '' : chunk;
        });
        reply
          .on('error', fail)
          .on('end', () => resolve(`${reply.statusCode} ${withoutTime(text)}`.trim()));
      },
    );
    sending.on('error', fail);
    sending.on('timeout', () => sending.destroy(new Error('no reply in 30 s')));
    sending.end(body);
  });
}

function withoutTime(body: string): string {
  return body.replace(/"timestamp":\d+/, '"timestamp":…').slice(0, 200);
}
