import { type FailureStage, failureReasons, isFailureReason } from '@gatehouse/errors';
import type { RequestEntry } from '@gatehouse/identity';

/** One stage of a request: its name, and what happened. */
export interface StageRow {
  readonly stage: string;
  readonly state: 'passed' | 'FAILED' | 'not reached' | 'not recorded';
  readonly detail: string;
}

const stagesOfApps: Readonly<Record<string, readonly FailureStage[]>> = {
  gateway: ['read', 'limit', 'authenticate', 'authorize', 'forward', 'reply'],
};
const otherStages: readonly FailureStage[] = ['read', 'limit', 'authenticate', 'validate', 'reply'];

/** The stages of a request in order, with the one that failed. */
export function requestStages(entry: RequestEntry): readonly StageRow[] {
  const failed = failedStageOf(entry.reason);
  const isOfService = entry.upstreamMs !== undefined && failed === 'validate';
  const inService = isOfService || entry.reason === 'database_unavailable';
  const stages = stagesOf(entry, inService ? undefined : failed);
  const failedAt = failed === undefined || inService ? stages.length : stages.indexOf(failed);
  const isUnclear = entry.reason !== undefined && failed === undefined;
  const rows = stages.map((stage, index): StageRow => {
    const detail = detailOf(stage, entry);
    if (stage === 'reply' && failed !== 'reply' && entry.status !== undefined) {
      return { stage, state: 'passed', detail: `${entry.status} after ${entry.durationMs} ms` };
    }
    if (isUnclear) {
      return { stage, state: 'not recorded', detail };
    }
    if (index === failedAt) {
      return { stage, state: 'FAILED', detail };
    }
    if (stage === 'authenticate' && index < failedAt && !entry.verified) {
      return { stage, state: 'not recorded', detail };
    }
    return { stage, state: index < failedAt ? 'passed' : 'not reached', detail };
  });
  return inService && failed !== undefined
    ? rows.flatMap((row) =>
        row.stage === 'forward'
          ? [row, { stage: `${failed} (device service)`, state: 'FAILED' as const, detail: '' }]
          : [row],
      )
    : rows;
}

/** The usual stages, with the failed one at its place. */
function stagesOf(
  { app, verified }: RequestEntry,
  failed: FailureStage | undefined,
): readonly FailureStage[] {
  const usual = stagesOfApps[app] ?? otherStages;
  if (failed === 'limit' && verified) {
    // The limit of a client counts after its verification.
    return ['read', 'authenticate', 'limit', ...usual.slice(3)];
  }
  if (failed === undefined || usual.includes(failed)) {
    return usual;
  }
  const at = verified ? usual.indexOf('authenticate') + 1 : usual.indexOf('authenticate');
  return usual.toSpliced(failed === 'validate' ? at + 1 : at, 0, failed);
}

function failedStageOf(reason: string | undefined): FailureStage | undefined {
  return reason !== undefined && reason !== 'unclassified' && isFailureReason(reason)
    ? failureReasons[reason].stage
    : undefined;
}

function detailOf(stage: FailureStage, { verifiedMs, upstreamMs, durationMs }: RequestEntry) {
  switch (stage) {
    case 'authenticate':
      return verifiedMs === undefined ? '' : `verified after ${verifiedMs} ms`;
    case 'forward':
      return upstreamMs === undefined ? '' : `upstream took ${upstreamMs} ms`;
    case 'reply':
      return `ended after ${durationMs} ms`;
    default:
      return '';
  }
}
