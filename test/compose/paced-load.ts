import { setTimeout as sleep } from 'node:timers/promises';

export interface Call {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PATCH';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const TICK_MILLISECONDS = 20;

/**
 * Sends this many requests per second without waiting, so that a slow reply delays no other
 * request. `stop` resolves when all replies have arrived, to the number of requests, and the count
 * of each outcome: 200, another status with its body, or the code of a broken connection.
 */
export function startPacedLoad(requestsPerSecond: number, nextCall: (turn: number) => Call) {
  const outcomes = new Map<string, number>();
  const open = new Set<Promise<void>>();
  let sent = 0;
  let stopped = false;

  async function send(turn: number): Promise<void> {
    const outcome = await outcomeOf(nextCall(turn));
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
      return { sent, outcomes: Object.fromEntries([...outcomes].sort()) };
    },
  };
}

async function outcomeOf({ url, ...init }: Call): Promise<string> {
  try {
    const reply = await fetch(url, { ...init, signal: AbortSignal.timeout(30_000) });
    const body = (await reply.text()).replace(/"timestamp":\d+/, '"timestamp":…').slice(0, 200);
    return reply.status === 200 ? '200' : `${reply.status} ${body}`.trim();
  } catch (error) {
    const { cause, message } = error as Error & { readonly cause?: { readonly code?: string } };
    return cause?.code ?? message;
  }
}
