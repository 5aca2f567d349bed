import { type FailureReason, failureReasons, failureStages } from '@gatehouse/errors';
import { closestName } from '../command-line/closest-name.ts';
import { type OfflineCommand, UsageError } from '../command-line/command.ts';

const reasons = Object.entries<FailureReason>(failureReasons);

/** Prints the catalogue of reasons that logs, the request log and the audit trail name. */
export const reasonsCommand: OfflineCommand = {
  name: 'reasons',
  summary: 'Explain why requests fail: every reason with its cause and how to fix it.',
  optionalPositional: 'code',
  notes: [
    'With a reason or an error code, it prints only what belongs to it.',
    'For one failed request: gatehouse requests explain REQUEST-ID.',
  ],
  async runOffline({ positionals }) {
    const shown = select(positionals.code);
    return {
      json: { reasons: shown.map(([name, reason]) => ({ reason: name, ...reason })) },
      text: shown.map(([name, reason]) => describe(name, reason)).join('\n\n'),
    };
  },
};

function select(code: string | undefined) {
  const byStage = failureStages.flatMap((stage) =>
    reasons.filter(([, reason]) => reason.stage === stage),
  );
  const found = byStage.filter(
    ([name, { codes }]) => code === undefined || name === code || codes.includes(code),
  );
  if (code !== undefined && found.length === 0) {
    const meant = closestName(
      code,
      reasons.flatMap(([name, { codes }]) => [name, ...codes]),
    );
    throw new UsageError(
      `No reason or error code has this name.${meant === undefined ? '' : ` Did you mean ${meant}?`}`,
    );
  }
  return found;
}

function describe(name: string, { codes, stage, cause, fix }: FailureReason): string {
  return [
    name,
    `  Stage: ${stage}${codes.length === 0 ? '' : `. Error code: ${codes.join(', ')}`}`,
    `  ${cause}`,
    `  Fix: ${fix}`,
  ].join('\n');
}
