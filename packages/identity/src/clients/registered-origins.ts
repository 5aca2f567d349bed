import type { ClientRegistry } from './clients.ts';

/** The origins that clients registered for browser applications (RFC 9700 §2.6). */
export interface RegisteredOrigins {
  /** Whether an enabled client registered this origin. The copy is at most one second old. */
  has(origin: string): Promise<boolean>;
}

const REFRESH_MILLISECONDS = 1000;

export function createRegisteredOrigins(
  clients: ClientRegistry,
  now: () => number = Date.now,
): RegisteredOrigins {
  let origins: Promise<ReadonlySet<string>> | undefined;
  let readAt = 0;

  async function read(): Promise<ReadonlySet<string>> {
    const registered = await clients.list();
    return new Set(
      registered.filter((client) => client.enabled).flatMap((client) => client.corsOrigins),
    );
  }

  return {
    async has(origin) {
      const age = now() - readAt;
      if (origins === undefined || age >= REFRESH_MILLISECONDS || age < 0) {
        readAt = now();
        // Concurrent callers share this read. A failed read is discarded.
        const reading = read().catch((error: unknown) => {
          if (origins === reading) {
            origins = undefined;
          }
          throw error;
        });
        origins = reading;
      }
      return (await origins).has(origin);
    },
  };
}
