import { GatehouseError } from './gatehouse-error.ts';

const MAXIMUM_ATTEMPTS = 3;
const FIRST_PAUSE_MILLISECONDS = 100;
const DEFAULT_DEADLINE_MILLISECONDS = 30_000;

export interface RetryRules<Reply> {
  readonly deadline: Deadline;
  /** A lost reply, or 503 with `Retry-After`, does not tell whether a request took effect. */
  readonly isSafe: boolean;
  /** 429 means that the gateway did not forward the request, if the reply can be trusted. */
  readonly repeatsLimited: (limited: Reply) => boolean;
  /** The server that an error names. */
  readonly url: URL;
}

/** Sends a request up to three times. The last reply or failure is the outcome. */
export async function sendWithRetries<Reply extends { readonly response: Response }>(
  send: (signal: AbortSignal) => Promise<Reply>,
  { deadline, isSafe, repeatsLimited, url }: RetryRules<Reply>,
): Promise<Reply> {
  const { signal } = deadline;
  for (let attempt = 1; ; attempt += 1) {
    const mayWait = (pause: number | undefined): pause is number =>
      pause !== undefined && attempt < MAXIMUM_ATTEMPTS && pause < deadline.remainingMilliseconds();
    let pause: number | undefined;
    try {
      const reply = await send(signal);
      const { response } = reply;
      const isRepeatable =
        (response.status === 503 && isSafe) || (response.status === 429 && repeatsLimited(reply));
      pause = isRepeatable ? requestedPause(response) : undefined;
      if (!mayWait(pause)) {
        return reply;
      }
      if (!response.bodyUsed) {
        await response.body?.cancel();
      }
    } catch (error) {
      if (signal.aborted) {
        throw signal.reason;
      }
      if (error instanceof GatehouseError) {
        throw error;
      }
      pause = isSafe ? withJitter(FIRST_PAUSE_MILLISECONDS * 2 ** attempt) : undefined;
      if (!mayWait(pause)) {
        const unsure = ' The request may have taken effect, so the client did not repeat it.';
        const message = `No reply arrived from ${url.origin}.${isSafe ? '' : unsure}`;
        throw new GatehouseError('network_error', message, { cause: error });
      }
    }
    await sleep(pause, signal);
  }
}

/** From `Retry-After` (RFC 9110 §10.2.3). Jitter keeps clients from returning all at once. */
function requestedPause({ headers }: Response): number | undefined {
  const value = headers.get('retry-after') ?? '';
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds)
    ? undefined
    : Math.max(0, milliseconds) + withJitter(FIRST_PAUSE_MILLISECONDS);
}

function withJitter(milliseconds: number): number {
  return milliseconds * (0.5 + Math.random());
}

/** The time limit of a call, and the caller's own signal. */
export type Deadline = ReturnType<typeof startDeadline>;

export function startDeadline(
  milliseconds: number = DEFAULT_DEADLINE_MILLISECONDS,
  callerSignal?: AbortSignal | null,
) {
  const endsAt = performance.now() + milliseconds;
  const controller = new AbortController();
  const timer = setTimeout(
    () =>
      controller.abort(new GatehouseError('deadline_exceeded', `No reply in ${milliseconds} ms.`)),
    milliseconds,
  );
  const own = controller.signal;
  const signal: AbortSignal = callerSignal ? AbortSignal.any([own, callerSignal]) : own;
  return {
    signal,
    remainingMilliseconds: () => endsAt - performance.now(),
    /** After this, only the caller's own signal ends the call. */
    clear: () => clearTimeout(timer),
  };
}

/** Rejects as soon as the signal aborts. The promise itself continues. */
export function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener('abort', abort, { once: true });
    promise.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject);
  });
}

async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await untilAborted(elapsed, signal).finally(() => clearTimeout(timer));
}
