import type { ClientRegistry } from './clients.ts';

/** The origins of browser applications, as clients registered them (RFC 9700 §2.6). */
export interface RegisteredOrigins {
  /** Whether an enabled client registered this origin, as of a second ago. */
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
        // Whoever comes meanwhile waits for the same reading; one that failed is not kept.
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
