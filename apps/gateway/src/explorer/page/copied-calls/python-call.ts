import { version1Text } from '../signing/sign-version-1.ts';
import { type CopiedCall, targetOf, variableOf } from './copied-call.ts';
import { quotePython } from './quote.ts';

const noRedirects = [
  '',
  'class NoRedirects(urllib.request.HTTPRedirectHandler):',
  '    # By default, urllib sends the credential to every server that a redirect names.',
  '    def redirect_request(self, *_):',
  '        return None',
  '',
  '',
];

/** A program for Python 3 without further packages. */
export function pythonCall(call: CopiedCall): string {
  const { gatewayUrl, request, credential } = call;
  const { method, contentType, body } = request;
  const isSigned = credential.kind === 'secure-key';
  const headers = [
    ...(contentType === '' ? [] : [`    "Content-Type": ${quotePython(contentType)},`]),
    ...(credential.kind === 'access-token'
      ? ['    "Authorization": "Bearer " + os.environ["ACCESS_TOKEN"],']
      : []),
    ...(credential.kind === 'x-access-token'
      ? ['    "X-Access-Token": os.environ["X_ACCESS_TOKEN"],']
      : []),
    ...(isSigned ? ['    **signature_headers,'] : []),
  ];
  return [
    `# Set ${variableOf(credential)} before you run this.`,
    isSigned
      ? 'import hashlib, hmac, os, secrets, time, urllib.error, urllib.request'
      : 'import os, urllib.error, urllib.request',
    '',
    ...noRedirects,
    `body = ${quotePython(body ?? '')}.encode()`,
    ...signatureLines(call),
    `request = urllib.request.Request(`,
    `    ${quotePython(gatewayUrl + targetOf(request))},`,
    `    data=${body === undefined ? 'None' : 'body'},`,
    `    method=${quotePython(method)},`,
    '    headers={',
    ...headers.map((header) => `    ${header}`),
    '    },',
    ')',
    'try:',
    '    reply = urllib.request.build_opener(NoRedirects).open(request)',
    'except urllib.error.HTTPError as error:',
    '    reply = error',
    'print(reply.status, reply.read().decode())',
    '',
  ].join('\n');
}

function signatureLines({ request, credential }: CopiedCall): readonly string[] {
  if (credential.kind !== 'secure-key') {
    return [];
  }
  const start = [
    'secure_key = os.environ["SECURE_KEY"].encode()',
    'timestamp = str(time.time_ns() // 1_000_000)',
  ];
  const shared = [
    `    "X-Client-Id": ${quotePython(credential.clientId)},`,
    '    "X-Timestamp": timestamp,',
  ];
  if (credential.version === 1) {
    return [
      ...start,
      `text = ${quotePython(version1Text(request))}.encode()`,
      'signature_headers = {',
      ...shared,
      '    "X-Sign": hashlib.sha256(text + timestamp.encode() + secure_key).hexdigest(),',
      '}',
    ];
  }
  const { method, path, query, contentType } = request;
  return [
    ...start,
    'nonce = secrets.token_urlsafe(16)',
    'lines = [',
    '    "GATEHOUSE-V2",',
    ...[method, path, query, contentType].map((line) => `    ${quotePython(line)},`),
    '    hashlib.sha256(body).hexdigest(),',
    `    ${quotePython(credential.clientId)},`,
    '    timestamp,',
    '    nonce,',
    ']',
    'signature_headers = {',
    ...shared,
    '    "X-Nonce": nonce,',
    '    "X-Sign-V2": hmac.new(secure_key, "\\n".join(lines).encode(), hashlib.sha256).hexdigest(),',
    '}',
  ];
}
