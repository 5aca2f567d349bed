import { failureReasons, signingReasons } from '@gatehouse/errors';
import { describeSignedLines, describeSignedText } from './describe-signing.ts';
import { replyMistakes } from './reply-mistakes.ts';
import type { SignedInput, Verdict } from './verdict.ts';
import { visibleLine } from './visible-text.ts';

/** The texts for one cause. */
interface Explanation {
  readonly name: string;
  readonly cause: string;
  readonly fix: string;
  readonly documentation: string;
}

const signingPage = 'docs/signing.md';

export function explain(name: Verdict['causes'][number]): Explanation {
  if (name in replyMistakes) {
    const { section, ...texts } = replyMistakes[name as keyof typeof replyMistakes];
    return { name, ...texts, documentation: `${signingPage}#${section}` };
  }
  const { cause, fix } = failureReasons[name as keyof typeof failureReasons];
  const documentation =
    name in signingReasons ? `${signingPage}#mistakes` : 'docs/errors.md#credentials';
  return { name, cause, fix, documentation };
}

/** The verdict for people. */
export function describeVerdict(verdict: Verdict, about: readonly string[]): string {
  const { isVerified, version, causes, message, code } = verdict;
  const explained = causes.map(explain);
  const reported = code === undefined ? '' : ` The gateway reports ${code}.`;
  return [
    isVerified
      ? `Verified: the version ${version} signature is correct.`
      : `Not verified.${reported}`,
    ...(message === undefined ? [] : [visibleLine(message)]),
    ...explained.flatMap(({ name, cause, fix, documentation }) => [
      '',
      `Cause: ${name}`,
      `  ${cause}`,
      `Fix: ${fix}`,
      `Documentation: ${documentation}`,
    ]),
    ...(verdict.signed === undefined ? [] : ['', ...describeInput(verdict.signed, verdict)]),
    ...about.flatMap((line) => ['', `Note: ${line}`]),
  ].join('\n');
}

function describeInput(signed: SignedInput, { timestamp }: Verdict): readonly string[] {
  const heading = 'As received, the signature must cover';
  const ending = `followed by X-Timestamp (${visibleLine(timestamp ?? '')}) and the secure key, without a separator`;
  if (signed.signedAs === 'lines') {
    return [`${heading} these lines:`, ...indent(describeSignedLines(signed.expectedLines))];
  }
  if ('expectedBody' in signed) {
    const { bytes, sha256 } = signed.expectedBody;
    return [`${heading} the body (${bytes} bytes, SHA-256 ${sha256}), ${ending}.`];
  }
  const part = signed.signedAs === 'body' ? 'the body' : `the parameters of the ${signed.signedAs}`;
  return [`${heading} ${part}, ${ending}:`, ...indent(describeSignedText(signed.expectedText))];
}

const indent = (lines: readonly string[]) => lines.map((line) => `  ${line}`);
