import { formatTable } from '../command-line/table.ts';
import { type CurlRequest, curlCommand } from './curl-command.ts';
import type {
  Header,
  NotSigned,
  SignedVersions,
  Version1Signature,
  Version2Signature,
} from './sign-request.ts';
import { visibleLine, visibleLines } from './visible-text.ts';

/** The names of the nine lines of version 2, as in docs/signing.md. */
export const lineNames = [
  'constant',
  'method',
  'path',
  'query',
  'content type',
  'body (SHA-256)',
  'client',
  'timestamp',
  'nonce',
] as const;

const parts = {
  query: 'the parameters of the query, decoded and sorted',
  form: 'the parameters in the body, decoded and sorted',
  body: 'the body, exactly as sent',
} as const;

const MAXIMUM_LINES = 200;
const indent = (lines: readonly string[]) => lines.map((line) => `  ${line}`);

/** For people: the signed text, the headers and a curl command for each version. */
export function describeSigning(
  { version1, version2 }: SignedVersions,
  request: Omit<CurlRequest, 'headers'>,
): string {
  const sections = [describeVersion(1, version1, request), describeVersion(2, version2, request)];
  return sections.map((lines) => lines.join('\n')).join('\n\n');
}

function describeVersion(
  version: 1 | 2,
  signed: Version1Signature | Version2Signature | NotSigned,
  request: Omit<CurlRequest, 'headers'>,
): readonly string[] {
  if ('problem' in signed) {
    return [`Version ${version} cannot sign this request:`, `  ${signed.problem}`];
  }
  return [
    ...('lines' in signed ? describeLines(signed) : describeText(signed)),
    'Headers:',
    ...indent(signed.headers.map(formatHeader)),
    'Command:',
    ...indent(curlCommand({ ...request, headers: signed.headers }).split('\n')),
  ];
}

function describeText({ algorithm, signedAs, signedText }: Version1Signature): readonly string[] {
  return [
    `Version 1 with ${algorithm}`,
    `Signed text (${parts[signedAs]}):`,
    ...indent(describeSignedText(signedText)),
    `Input of ${algorithm}: signed text, X-Timestamp and secure key, without a separator.`,
  ];
}

/** A text as lines that show every character. */
export function describeSignedText(text: string): readonly string[] {
  if (text === '') {
    return ['(empty)'];
  }
  const lines = visibleLines(text);
  return lines.length <= MAXIMUM_LINES
    ? lines
    : [...lines.slice(0, MAXIMUM_LINES), `… (${lines.length - MAXIMUM_LINES} more lines)`];
}

function describeLines({ lines }: Version2Signature): readonly string[] {
  return [
    'Version 2',
    'Signed lines (the input of HMAC-SHA-256 with the secure key):',
    ...indent(describeSignedLines(lines)),
  ];
}

/** The lines of version 2 with their numbers and names. */
export function describeSignedLines(lines: readonly string[]): readonly string[] {
  return formatTable(
    lines.map((line, index) => [
      String(index + 1),
      lineNames[index] ?? '',
      line === '' ? '(empty)' : visibleLine(line),
    ]),
  ).split('\n');
}

function formatHeader([name, value]: Header): string {
  return value === '' ? `${name}: (empty)` : `${name}: ${visibleLine(value)}`;
}
