import type { ReceivedReply } from './api-request.ts';
import { withQuotes } from './elements.ts';
import { isRecord, parseEnvelope } from './reply-envelope.ts';
import type { SignedLine } from './signing/signed-request.ts';

/** Why the gateway rejected a request, as sentences. Undefined for a successful reply. */
export interface Rejection {
  readonly title: string;
  readonly advice: readonly string[];
}

/**
 * @param advice how to fix each error code
 * @param lines what the page signed. Undefined without a signature
 */
export function explainRejection(
  { status, text, headers }: ReceivedReply,
  advice: Readonly<Record<string, string>>,
  lines: readonly SignedLine[] | undefined,
): Rejection | undefined {
  if (status < 400) {
    return undefined;
  }
  const requestId = headers.get('x-request-id');
  const reference = requestId === null ? [] : [`Ask the operator about request ${requestId}.`];
  const envelope = parseEnvelope(status, text);
  if (envelope === undefined) {
    const title = `The reply with status ${status} is not an error of the gateway.`;
    return { title, advice: ['Check which program answers at this address.', ...reference] };
  }
  const { code, message, result } = envelope;
  const hint = isRecord(result) && typeof result.hint === 'string' ? result.hint : undefined;
  const general = Object.hasOwn(advice, code) ? advice[code] : undefined;
  const specific = [
    ...problemsOf(result),
    ...compareLines(result, lines),
    ...clockDifference(result),
  ];
  const sentences = [...specific, hint ?? general]
    .filter((each) => each !== undefined)
    .map(withQuotes);
  return { title: `${code}: ${message}`, advice: [...sentences, ...reference] };
}

function problemsOf(result: unknown): readonly string[] {
  return Array.isArray(result)
    ? result.flatMap((problem: unknown) =>
        isRecord(problem) ? [`${String(problem.property)}: ${String(problem.message)}`] : [],
      )
    : [];
}

/** The gateway built its lines from the request, and the page signed the same request. */
function compareLines(
  result: unknown,
  lines: readonly SignedLine[] | undefined,
): readonly string[] {
  const expected = isRecord(result) ? result.expectedLines : undefined;
  if (!Array.isArray(expected) || lines === undefined) {
    return [];
  }
  const different = lines.filter(({ value }, index) => value !== expected[index]);
  return different.length === 0
    ? [
        'The gateway expects exactly the lines that this page signed. The client id or the secure key is wrong.',
      ]
    : different.map(({ name }) => `The gateway received another value in the line ${name}.`);
}

function clockDifference(result: unknown): readonly string[] {
  const serverTime = isRecord(result) ? result.serverTime : undefined;
  if (typeof serverTime !== 'number') {
    return [];
  }
  const seconds = Math.round((Date.now() - serverTime) / 1000);
  const direction = seconds < 0 ? 'behind' : 'ahead of';
  return [`The clock of this device is ${Math.abs(seconds)} s ${direction} the gateway.`];
}
