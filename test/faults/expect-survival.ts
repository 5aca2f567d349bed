import { setTimeout as sleep } from 'node:timers/promises';
import { isNightly } from '@gatehouse/testing';
import { expect } from '@jest/globals';
import { Ledger } from './ledger.ts';
import { Load } from './load.ts';
import { createRequests } from './requests.ts';
import type { Tier } from './tier.ts';

/** On an idle machine, p99 of a 503 is below this. */
const ANSWER_MILLISECONDS = 700;
/**
 * The bounds are four times the goals, because they must only detect a missing deadline, also on a
 * slow machine: the printed figures are the measurement.
 */
const FACTOR = 4;
/** Acknowledged before, during and after the fault. */
const CREDENTIALS = 1000;
const BEFORE = 400;

export interface Fault {
  /** Makes the fault worse before it begins. */
  prepare?(): Promise<unknown> | unknown;
  /** Begins the fault. */
  begin(): Promise<unknown> | unknown;
  /** Repairs the damage. Called when the tier works again, or after `lastsMilliseconds`. */
  repair?(): Promise<unknown> | unknown;
  /** The tier cannot work again before the repair, which follows after this time. */
  readonly lastsMilliseconds?: number;
  /** Counted from the beginning of the fault, or from the repair if `lastsMilliseconds` is set. */
  readonly recoversWithinMilliseconds: number;
}

/** Prints a figure immediately. Jest would delay it until the end. */
function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Breaks a tier under load and checks four promises: only valid credentials are accepted, every
 * other failure is a 503 with Retry-After in time, the tier recovers without help, and no used or
 * revoked credential works again.
 */
export async function expectSurvival(name: string, tier: Tier, fault: Fault): Promise<void> {
  const requests = createRequests(tier);
  const ledger = new Ledger(tier, requests);
  const load = await Load.start(tier, requests, ledger);
  await ledger.reach(BEFORE);
  const { healthyP99 } = load;
  await fault.prepare?.();
  load.fault();
  await fault.begin();
  const { lastsMilliseconds } = fault;
  await (lastsMilliseconds === undefined ? load.recovered() : sleep(lastsMilliseconds));
  await fault.repair?.();
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
  if (isNightly) {
    expect(observed.p99).toBeLessThan(ANSWER_MILLISECONDS * FACTOR);
    expect(outage).toBeLessThan(fault.recoversWithinMilliseconds * FACTOR);
  }
}
