import { addressGroup } from '@gatehouse/server';

/** How many wrong signatures are examined in a window. */
export interface DiagnosisLimits {
  readonly windowMilliseconds: number;
  /** With one client id, from one address group. */
  readonly perClient: number;
  /** From one address group (an IPv6 /56 is one group). */
  readonly perAddressGroup: number;
  /** From all callers. Also bounds the memory for the counts. */
  readonly total: number;
}

export const DIAGNOSIS_LIMITS: DiagnosisLimits = {
  windowMilliseconds: 60_000,
  perClient: 60,
  perAddressGroup: 240,
  total: 1000,
};

/** Whether to examine one more wrong signature. */
export type DiagnosisBudget = (clientId: string, address: string) => boolean;

/**
 * Counts client ids as presented, whether they exist or not, and each within its address group.
 * Otherwise the budget would tell an attacker elsewhere whether a client sends wrong signatures,
 * and therefore exists.
 */
export function createDiagnosisBudget(
  { windowMilliseconds, perClient, perAddressGroup, total }: DiagnosisLimits,
  now: () => number,
): DiagnosisBudget {
  let windowStart = 0;
  let taken = 0;
  const counts = new Map<string, number>();

  const countOf = (key: string) => counts.get(key) ?? 0;

  return (clientId, address) => {
    const time = now();
    // The clock can also be set back.
    if (Math.abs(time - windowStart) >= windowMilliseconds) {
      counts.clear();
      taken = 0;
      windowStart = time;
    }
    if (taken >= total) {
      return false;
    }
    const group = addressGroup(address);
    const client = `${group} ${clientId}`;
    // Rejected attempts with one id must not use up the budget of the group.
    if (countOf(group) >= perAddressGroup || countOf(client) >= perClient) {
      return false;
    }
    counts.set(group, countOf(group) + 1);
    counts.set(client, countOf(client) + 1);
    taken += 1;
    return true;
  };
}
