import {
  type FailureReason,
  type FailureStage,
  failureReasons,
  failureStages,
} from '@gatehouse/errors';

export const failureReasonsDocument = 'docs/failure-reasons.md';

const LINE_CHARACTERS = 100;

const meanings: Readonly<Record<FailureStage, string>> = {
  read: 'The server could not read the request.',
  limit: 'A limit rejected the request.',
  authenticate: 'The request did not prove who sent it.',
  authorize: 'The credential is valid, but does not allow the request.',
  validate: 'A part of the request is invalid, or names something that does not exist.',
  forward: 'The upstream service did not answer as it should.',
  store: 'The store or the database did not answer.',
  reply: 'The reply could not be created or sent.',
};

const introduction = `# Failure reasons

Every failed request has an internal reason, which is finer than the [error code](errors.md) of the
reply. It is in the [log](operations/monitor.md#logs), the [request
log](operations/monitor.md#request-log) and the audit trail:

\`\`\`sh
npm run -s gatehouse -- requests explain 0b7c2d7e-2f0e-4c6e-9f6b-0c9f6f0d6f1a
\`\`\`

Callers see a reason only where it helps no attacker ([errors](errors.md)). The reasons are grouped
by the stage that failed.

<!-- npm run update:reasons writes this page from packages/errors/src/. -->`;

/** The whole page, written from the catalogue. */
export function failureReasonsPage(): string {
  const sections = failureStages.map((stage) => {
    const entries = Object.entries<FailureReason>(failureReasons)
      .filter(([, reason]) => reason.stage === stage)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, reason]) => describeReason(name, reason));
    return [`## Stage ${stage}`, meanings[stage], ...entries].join('\n\n');
  });
  return `${[introduction, ...sections].join('\n\n')}\n`;
}

function describeReason(name: string, { codes, cause, fix, example }: FailureReason): string {
  const inReplies = codes.map((code) => `\`${code}\``).join(', ');
  return [
    `### \`${name}\``,
    '',
    ...item('Error code', inReplies === '' ? 'that of the reply, if it has one.' : `${inReplies}.`),
    ...item('What happened', escaped(cause)),
    ...item('How to fix it', escaped(fix)),
    ...item('Example', escaped(example)),
  ].join('\n');
}

/** A list item, wrapped. */
function item(name: string, text: string): readonly string[] {
  const lines: string[] = [`- **${name}:**`];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last.length + 1 + word.length > LINE_CHARACTERS) {
      lines.push(`  ${word}`);
    } else {
      lines[lines.length - 1] = `${last} ${word}`;
    }
  }
  return lines;
}

/** Shows characters of Markdown as they are, except in code. */
function escaped(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replace(/[<*[\]]/g, '\\$&')))
    .join('');
}
