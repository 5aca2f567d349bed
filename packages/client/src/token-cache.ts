export interface IssuedToken {
  readonly value: string;
  readonly expiresInSeconds: number;
}

/** Requests a token when it is needed, once for all waiting calls, and renews it early. */
export interface TokenCache {
  get(): string | Promise<string>;
  /** Forgets a token that the gateway rejected, unless it was replaced already. */
  drop(value: string): void;
}

const SECOND = 1000;
const MAXIMUM_RENEWAL_LEAD_MILLISECONDS = 60 * SECOND;
const RENEWAL_PAUSE_MILLISECONDS = SECOND;

export function createTokenCache(request: () => Promise<IssuedToken>): TokenCache {
  let current: { readonly value: string; readonly expiresAt: number; renewAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function renew(): Promise<string> {
    const requestedAt = performance.now();
    const { value, expiresInSeconds } = await request();
    const lifetime = expiresInSeconds * SECOND;
    const lead = Math.min(lifetime / 10, MAXIMUM_RENEWAL_LEAD_MILLISECONDS);
    const expiresAt = requestedAt + lifetime;
    current = { value, expiresAt, renewAt: expiresAt - lead };
    return value;
  }

  return {
    get() {
      const now = performance.now();
      if (current !== undefined && now < current.renewAt) {
        return current.value;
      }
      pending ??= renew().finally(() => {
        pending = undefined;
      });
      if (current === undefined || now >= current.expiresAt) {
        return pending;
      }
      // The token is still valid, so no call waits for its renewal, or fails with it.
      const renewed = current;
      pending.catch(() => {
        renewed.renewAt = performance.now() + RENEWAL_PAUSE_MILLISECONDS;
      });
      return current.value;
    },
    drop(value) {
      if (current?.value === value) {
        current = undefined;
      }
    },
  };
}
