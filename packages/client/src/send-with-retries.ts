import { type Deadline, sleep } from './deadline.ts';
import { GatehouseError } from './gatehouse-error.ts';

const MAXIMUM_ATTEMPTS = 3;
const FIRST_PAUSE_MILLISECONDS = 100;

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
