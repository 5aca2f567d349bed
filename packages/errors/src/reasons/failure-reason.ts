/** The stage of a request that failed, in the order of the stages. */
export const failureStages = [
  'read',
  'limit',
  'authenticate',
  'authorize',
  'validate',
  'forward',
  'store',
  'reply',
] as const;

export type FailureStage = (typeof failureStages)[number];

/**
 * Why a request failed. Finer than the public error code: it is in logs, the audit trail and the
 * request log. A caller sees it only where the reply explains the failure.
 */
export interface FailureReason {
  /** The public error codes that this reason can have. */
  readonly codes: readonly string[];
  readonly stage: FailureStage;
  /** What happened, in one or two sentences. */
  readonly cause: string;
  /** How to fix it, in one or two sentences. */
  readonly fix: string;
  /** A request, header or value that fails for this reason. */
  readonly example: string;
}
