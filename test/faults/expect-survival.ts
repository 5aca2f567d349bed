import { expect } from '@jest/globals';
import { Ledger } from './ledger.ts';
import { Load } from './load.ts';
import { createRequests } from './requests.ts';
import type { Tier } from './tier.ts';

/** How long a 503 may take at p99 on a machine with nothing else to do. */
const ANSWER_MILLISECONDS = 700;
/** A healthy request takes no longer at p99 on such a machine. Where it does, every bound grows with it, up to fourfold. */
const QUIET_P99_MILLISECONDS = 60;
const LARGEST_FACTOR = 4;
/** Acknowledged before, during and after the fault. */
const CREDENTIALS = 1000;
const BEFORE = 400;

export interface Fault {
  /** Makes the fault worse before it begins. */
  prepare?(): Promise<unknown> | unknown;
  /** Begins the fault. */
  begin(): Promise<unknown> | unknown;
  /** Repairs what the tier had to survive. Called once the tier works again, or where it cannot, at once. */
  repair?(): Promise<unknown> | unknown;
  /** The tier works again only after the repair, which comes this much later. */
  readonly lastsMilliseconds?: number;
  /** From the beginning of the fault, or from its repair where the tier has to wait for that. */
  readonly recoversWithinMilliseconds: number;
}

/** Figures for whoever runs it: Jest would hold them back until the end. */
function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Breaks a tier under load and checks what is promised: nobody gets in without a credential that is valid then, the
 * others get 503 with Retry-After in time, the tier recovers by itself, and nothing that was ended works again.
 */
export async function expectSurvival(name: string, tier: Tier, fault: Fault): Promise<void> {
  const requests = createRequests(tier);
  const ledger = new Ledger(tier, requests);
  const load = await Load.start(tier, requests, ledger);
  await ledger.reach(BEFORE);
  const { healthyP99 } = load;
  const factor = Math.min(LARGEST_FACTOR, Math.max(1, healthyP99 / QUIET_P99_MILLISECONDS));
  await fault.prepare?.();
  load.fault();
  await fault.begin();
  if (fault.lastsMilliseconds === undefined) {
    await load.recovered();
    await fault.repair?.();
  } else {
    await new Promise((resolve) => setTimeout(resolve, fault.lastsMilliseconds));
    await fault.repair?.();
  }
  await load.recovered();
  await ledger.reach(Math.max(CREDENTIALS, ledger.size + 50));
  await ledger.stop();
  const { unexpected, undeserved, withoutRetryAfter, ...observed } = await load.stop();
  const accepted = await ledger.findAccepted();
  const outage = observed.outageMilliseconds - (fault.lastsMilliseconds ?? 0);
  report(
    `${name}: ${observed.unavailable} × 503, p99 ${Math.round(observed.p99)} ms; whole after ` +
      `${Math.round(outage)} ms; ${ledger.size} ended (${ledger.count('used code')} codes, ` +
      `${ledger.count('rotated refresh token')} refresh tokens), ${accepted.length} accepted again; ` +
      `healthy p99 ${Math.round(healthyP99)} ms`,
  );
  expect(accepted).toEqual([]);
  expect(undeserved).toBe(0);
  expect(unexpected).toEqual([]);
  expect(withoutRetryAfter).toBe(0);
  expect(observed.p99).toBeLessThan(ANSWER_MILLISECONDS * factor);
  expect(outage).toBeLessThan(fault.recoversWithinMilliseconds * factor);
}
