import { type FindingId, findingCatalogue } from './finding-catalogue.ts';
import type { Severity } from './severity.ts';

/** One problem of an installation, with the exact fix. Never contains a secret. */
export interface Finding {
  readonly id: FindingId;
  readonly severity: Severity;
  readonly what: string;
  readonly why: string;
  readonly fix: string;
}

/**
 * @param what the problem with its names and figures
 * @param fix the fix with its names, if the one of the catalogue is not exact
 */
export function finding(id: FindingId, what: string, fix?: string): Finding {
  const entry = findingCatalogue[id];
  return { id, severity: entry.severity, what, why: entry.why, fix: fix ?? entry.fix };
}
