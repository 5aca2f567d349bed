import type { FailureStage } from '../error-catalogue.ts';

/**
 * Why a request failed. Finer than the public error code: it is in logs, the audit trail and the
 * request log. A caller sees it only where the reply explains the failure.
 */
export interface FailureReason {
  /** The public error codes that this reason can have. None: any. */
  readonly codes: readonly string[];
  readonly stage: FailureStage;
  /** What happened, in one or two sentences. */
  readonly cause: string;
  /** How to fix it, in one or two sentences. */
  readonly fix: string;
}

/** Reasons that share a stage and their error codes. */
export function reasons<Name extends string>(
  stage: FailureStage,
  codes: readonly string[],
  texts: Readonly<Record<Name, Pick<FailureReason, 'cause' | 'fix'>>>,
): Readonly<Record<Name, FailureReason>> {
  const entries = Object.entries<Pick<FailureReason, 'cause' | 'fix'>>(texts);
  return Object.fromEntries(
    entries.map(([name, text]) => [name, { codes, stage, ...text }]),
  ) as Record<Name, FailureReason>;
}
