export const severities = ['error', 'warning', 'notice'] as const;

/**
 * - `error`: requests fail, data can be lost, or an attacker gains something. Act now.
 * - `warning`: this will fail, or is weaker than it needs to be. Plan a change.
 * - `notice`: worth knowing, or not checked.
 */
export type Severity = (typeof severities)[number];

/** What all findings of a kind have in common. */
export interface FindingEntry {
  readonly severity: Severity;
  readonly why: string;
  readonly fix: string;
}
