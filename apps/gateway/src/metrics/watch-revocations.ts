import { type CanaryKind, canaryKinds, type RevocationCanary } from '@gatehouse/identity';

const INTERVAL_MILLISECONDS = 5000;

export interface RevocationObserver {
  readonly enforced: (kind: CanaryKind, seconds: number) => void;
  /** The measurement failed, for example because the store is unavailable. */
  readonly unmeasured: (kind: CanaryKind) => void;
}

/**
 * Measures every few seconds how long this gateway takes to enforce a revocation of each kind.
 *
 * @returns a function that stops the measurements
 */
export function watchRevocations(
  canary: RevocationCanary,
  observer: RevocationObserver,
): () => void {
  let isMeasuring = false;

  async function measureAll(): Promise<void> {
    for (const kind of canaryKinds) {
      await canary.measure(kind).then(
        (seconds) => observer.enforced(kind, seconds),
        () => observer.unmeasured(kind),
      );
    }
  }

  const timer = setInterval(async () => {
    if (!isMeasuring) {
      isMeasuring = true;
      await measureAll();
      isMeasuring = false;
    }
  }, INTERVAL_MILLISECONDS).unref();
  return () => clearInterval(timer);
}
