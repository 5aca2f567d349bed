import { type Deadline, sleep } from './deadline.ts';
import { GatehouseError } from './gatehouse-error.ts';

const MAXIMUM_ATTEMPTS = 3;
const FIRST_PAUSE_MILLISECONDS = 100;

export interface RetryRules {
  readonly deadline: Deadline;
  /** A lost reply, or 503 with `Retry-After`, does not tell whether a request took effect. */
  readonly isSafe: boolean;
  /** 429 means that the gateway did not forward the request, if the reply can be trusted. */
  readonly repeatsLimited: boolean;
}

/** Sends a request up to three times. The last reply or failure is the outcome. */
export async function sendWithRetries(
  send: (signal: AbortSignal) => Promise<Response>,
  { deadline, isSafe, repeatsLimited }: RetryRules,
): Promise<Response> {
  const { signal } = deadline;
  for (let attempt = 1; ; attempt += 1) {
    const mayWait = (pause: number | undefined): pause is number =>
      pause !== undefined && attempt < MAXIMUM_ATTEMPTS && pause < deadline.remainingMilliseconds();
    let pause: number | undefined;
    try {
      const response = await send(signal);
      const isRepeatable =
        (response.status === 503 && isSafe) || (response.status === 429 && repeatsLimited);
      pause = isRepeatable ? requestedPause(response) : undefined;
      if (!mayWait(pause)) {
        return response;
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
        throw new GatehouseError('network_error', networkMessage(isSafe), { cause: error });
      }
    }
    await sleep(pause, signal);
  }
}

function networkMessage(isSafe: boolean): string {
  return isSafe
    ? 'No reply arrived.'
    : 'No reply arrived. The request may have taken effect, so the client did not repeat it.';
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
