import { version1Text } from '../signing/sign-version-1.ts';
import { type CopiedCall, targetOf, variableOf } from './copied-call.ts';
import { escapeJson, quoteShell } from './quote.ts';

/** A call for a POSIX shell with curl, and with openssl for a signature. */
export function curlCall({ gatewayUrl, request: shown, credential }: CopiedCall): string {
  const request = {
    ...shown,
    body: shown.body === undefined ? undefined : escapeJson(shown.body),
  };
  const { method, contentType, body } = request;
  const headers = [
    ...(contentType === '' ? [] : [quoteShell(`Content-Type: ${contentType}`)]),
    ...(credential.kind === 'access-token' ? ['"Authorization: Bearer $ACCESS_TOKEN"'] : []),
    ...(credential.kind === 'x-access-token' ? ['"X-Access-Token: $X_ACCESS_TOKEN"'] : []),
    ...(credential.kind === 'secure-key'
      ? [
          quoteShell(`X-Client-Id: ${credential.clientId}`),
          '"X-Timestamp: $timestamp"',
          ...(credential.version === 2
            ? ['"X-Nonce: $nonce"', '"X-Sign-V2: $signature"']
            : ['"X-Sign: $signature"']),
        ]
      : []),
  ];
  const options = [
    `curl -sS -X ${method} ${quoteShell(gatewayUrl + targetOf(request))}`,
    ...headers.map((header) => `-H ${header}`),
    ...(body === undefined ? [] : ['--data-raw "$body"']),
  ];
  const needsBody = body !== undefined || credential.kind === 'secure-key';
  return [
    `# Set ${variableOf(credential)} before you run this.`,
    ...(needsBody ? [`body=${quoteShell(body ?? '')}`] : []),
    ...signatureLines({ gatewayUrl, request, credential }),
    options.join(' \\\n  '),
    '',
  ].join('\n');
}

function signatureLines({ request, credential }: CopiedCall): readonly string[] {
  if (credential.kind !== 'secure-key') {
    return [];
  }
  if (credential.version === 1) {
    return [
      '# POSIX has no milliseconds. Without random ones, a second call is a replay.',
      'timestamp="$(date +%s)$(printf %03d $(($(od -An -N2 -tu2 /dev/urandom) % 1000)))"',
      `text=${quoteShell(version1Text(request))}`,
      'signature="$(printf %s "$text$timestamp$SECURE_KEY" | openssl dgst -sha256 -r | cut -c1-64)"',
    ];
  }
  const { method, path, query, contentType } = request;
  const lines = [
    'GATEHOUSE-V2',
    method,
    quoteShell(path),
    quoteShell(query),
    quoteShell(contentType),
    '"$hash"',
    quoteShell(credential.clientId),
    '"$timestamp"',
    '"$nonce"',
  ];
  return [
    'timestamp="$(date +%s)000"',
    'nonce="$(openssl rand -hex 16)"',
    'hash="$(printf %s "$body" | openssl dgst -sha256 -r | cut -c1-64)"',
    `lines="$(printf '%s\\n' ${lines.join(' ')})"`,
    '# While openssl runs, other users of the machine can see the key in the process list.',
    'signature="$(printf %s "$lines" | openssl dgst -sha256 -hmac "$SECURE_KEY" -r | cut -c1-64)"',
  ];
}
