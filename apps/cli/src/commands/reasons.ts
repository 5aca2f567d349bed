import { type FailureReason, failureReasons, failureStages } from '@gatehouse/errors';
import { type Command, UsageError } from '../command-line/command.ts';

const MAXIMUM_SIMILAR = 5;
const reasons = Object.entries<FailureReason>(failureReasons);

/** Prints the catalogue of reasons that logs, the request log and the audit trail name. */
export const reasonsCommand: Command = {
  usage: 'reasons [code]',
  summary: 'Explain why requests fail: every reason with its cause and how to fix it.',
  notes: [
    'With a reason or an error code, it prints only what belongs to it.',
    'For one failed request: gatehouse requests explain REQUEST-ID.',
  ],
  example: 'invalid_signature',
  async runOffline({ positionals: { code } }) {
    const found = failureStages
      .flatMap((stage) => reasons.filter(([, reason]) => reason.stage === stage))
      .filter(([name, { codes }]) => code === undefined || name === code || codes.includes(code));
    if (code !== undefined && found.length === 0) {
      throw unknownReason(code);
    }
    return {
      json: { reasons: found.map(([name, reason]) => ({ reason: name, ...reason })) },
      text: found.map(([name, reason]) => describe(name, reason)).join('\n\n'),
    };
  },
};

/** Names the reasons and codes that share a word with the unknown one. */
export function unknownReason(entered: string): UsageError {
  const names = new Set(reasons.flatMap(([name, { codes }]) => [name, ...codes]));
  const words = new Set(entered.split('_'));
  const shared = (name: string) => {
    const ofName = name.split('_');
    return ofName.filter((word) => words.has(word)).length / ofName.length;
  };
  const similar = [...names]
    .filter((name) => shared(name) > 0)
    .sort((a, b) => shared(b) - shared(a))
    .slice(0, MAXIMUM_SIMILAR);
  return new UsageError(
    'No reason or error code has this name. gatehouse reasons lists all of them.',
    similar.length === 0 ? [] : [`Similar: ${similar.join(', ')}`],
  );
}

function describe(name: string, { codes, stage, cause, fix }: FailureReason): string {
  return [
    name,
    `  Stage: ${stage}${codes.length === 0 ? '' : `. Error code: ${codes.join(', ')}`}`,
    `  ${cause}`,
    `  Fix: ${fix}`,
  ].join('\n');
}
