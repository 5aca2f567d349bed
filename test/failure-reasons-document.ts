import {
  type FailureReason,
  type FailureStage,
  failureReasons,
  failureStages,
  signingReasons,
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

const troubleshootingIntroduction = `## Troubleshooting

<!-- npm run update:reasons writes this chapter from packages/errors/src/. -->

When a signed request fails, \`result.cause\` of the reply usually names the mistake.
\`gatehouse verify\` prints the same name. Find the name below.

If the reply with \`invalid_signature\` has no \`result.cause\`, compare \`result.expectedText\` or
\`result.expectedLines\` with the text that your program signs. For a body, compare the SHA-256 in
\`result.expectedBody\`.

- **The texts differ:** correct your program. Run [\`gatehouse sign\`](#check-your-signatures) to see
  every character of the correct text.
- **The texts are equal:** the client id or the secure key is wrong, or the client is disabled. The
  reply does not distinguish these cases, so that it reveals nothing to attackers. Send your
  operator the \`X-Request-Id\` of the reply. The operator can look up the reason.`;

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

/** The chapter of docs/signing.md that `result.documentation` of a signed request points to. */
export function signingTroubleshooting(): string {
  const entries = Object.entries<FailureReason>(signingReasons).map(([name, reason]) =>
    describeReason(name, reason),
  );
  return `${[troubleshootingIntroduction, ...entries].join('\n\n')}\n`;
}

/** Everything before the chapter, which is the last one of the page. */
export function beforeTroubleshooting(page: string): string {
  return page.slice(0, page.indexOf(`${troubleshootingIntroduction.split('\n', 1)}\n`));
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
