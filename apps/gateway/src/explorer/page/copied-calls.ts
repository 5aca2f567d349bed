/**
 * The shown call as code for a shell or for JavaScript. Secrets are never part of it: the program
 * reads them from the environment.
 */
import { version1Text } from '@gatehouse/signing/core';
import type { Credential } from './credentials.ts';
import { element, find, show } from './elements.ts';
import type { ApiRequest } from './operations.ts';

interface CopiedCall {
  readonly gatewayUrl: string;
  readonly request: ApiRequest;
  readonly credential: Credential;
}

const languages = { curl: curlCall, javascript: javascriptCall } as const;

/** The variable that contains the secret. */
const variables = {
  'access-token': 'ACCESS_TOKEN',
  'x-access-token': 'X_ACCESS_TOKEN',
  'secure-key': 'SECURE_KEY',
} as const;

/** Shows the call in the chosen language, and copies it. */
export function createCopyForm(): (call: CopiedCall) => void {
  const choice = find('language', HTMLSelectElement);
  const code = find('code', HTMLElement);
  let shown: CopiedCall | undefined;

  function showCode(): void {
    if (shown !== undefined) {
      code.textContent = languages[choice.value as keyof typeof languages](shown);
      show('copied', '');
    }
  }

  choice.addEventListener('change', showCode);
  find('copy', HTMLButtonElement).addEventListener('click', async () => {
    const copying = navigator.clipboard.writeText(code.textContent ?? '');
    const outcome = await copying.then(
      () => 'Copied.',
      () => 'Select the text to copy it.',
    );
    show('copied', element('span', {}, outcome));
  });
  return (call) => {
    shown = call;
    find('calls', HTMLElement).hidden = false;
    showCode();
  };
}

/** The code belongs to the request that was shown before. */
export function hideCall(): void {
  find('calls', HTMLElement).hidden = true;
  show('code');
  show('copied');
}

/** A call for a POSIX shell with curl, and with openssl for a signature. */
function curlCall({ gatewayUrl, request: shown, credential }: CopiedCall): string {
  const request = { ...shown, body: shown.body.replace(DECEIVING, surrogates) };
  const { method, contentType, body } = request;
  const isSigned = credential.kind === 'secure-key';
  const headers = [
    ...(contentType === '' ? [] : [quoteShell(`Content-Type: ${contentType}`)]),
    ...credentialHeaders(credential),
  ];
  const options = [
    `curl -sS -X ${method} ${quoteShell(gatewayUrl + targetOf(request))}`,
    ...headers.map((header) => `-H ${header}`),
    ...(body === '' ? [] : ['--data-raw "$body"']),
  ];
  return [
    `# Set ${variables[credential.kind]} before you run this.`,
    ...(body !== '' || isSigned ? [`body=${quoteShell(body)}`] : []),
    ...(isSigned ? signatureLines(request, credential) : []),
    options.join(' \\\n  '),
    '',
  ].join('\n');
}

function credentialHeaders(credential: Credential): readonly string[] {
  switch (credential.kind) {
    case 'access-token':
      return ['"Authorization: Bearer $ACCESS_TOKEN"'];
    case 'x-access-token':
      return ['"X-Access-Token: $X_ACCESS_TOKEN"'];
    default:
      return [
        quoteShell(`X-Client-Id: ${credential.clientId}`),
        '"X-Timestamp: $timestamp"',
        ...(credential.version === 2
          ? ['"X-Nonce: $nonce"', '"X-Sign-V2: $signature"']
          : ['"X-Sign: $signature"']),
      ];
  }
}

function signatureLines(
  request: ApiRequest,
  { version, clientId }: Extract<Credential, { kind: 'secure-key' }>,
): readonly string[] {
  if (version === 1) {
    return [
      '# POSIX has no milliseconds. Without random ones, a second call is a replay.',
      'timestamp="$(date +%s)$(printf %03d $(($(od -An -N2 -tu2 /dev/urandom) % 1000)))"',
      `text=${quoteShell(String(version1Text(request)))}`,
      'signature="$(printf %s "$text$timestamp$SECURE_KEY" | openssl dgst -sha256 -r | cut -c1-64)"',
    ];
  }
  const { method, path, query, contentType } = request;
  const quoted = [path, query, contentType].map(quoteShell);
  const lines = [
    ...['GATEHOUSE-V2', method, ...quoted, '"$hash"', quoteShell(clientId)],
    ...['"$timestamp"', '"$nonce"'],
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

/** A module for Node, Deno or Bun. Signed calls use the client library, which verifies the reply. */
function javascriptCall({ gatewayUrl, request, credential }: CopiedCall): string {
  const { method, contentType, body } = request;
  const isSigned = credential.kind === 'secure-key';
  const headers = [
    ...(contentType === '' ? [] : [`'Content-Type': ${quoteJavaScript(contentType)}`]),
    ...(credential.kind === 'access-token' ? ["Authorization: 'Bearer ' + env.ACCESS_TOKEN"] : []),
    ...(credential.kind === 'x-access-token' ? ["'X-Access-Token': env.X_ACCESS_TOKEN"] : []),
  ];
  const target = quoteJavaScript(isSigned ? targetOf(request) : gatewayUrl + targetOf(request));
  return [
    `// Set ${variables[credential.kind]} before you run this.`,
    "import { env } from 'node:process';",
    ...(isSigned
      ? [
          '// It is not on npm yet. Pack it as docs/guides.md#backend-service shows.',
          "import { createSignedFetch } from '@gatehouse/client';",
          '',
          'const api = createSignedFetch({',
          `  gateway: ${quoteJavaScript(gatewayUrl)},`,
          `  clientId: ${quoteJavaScript(credential.clientId)},`,
          '  secureKey: env.SECURE_KEY,',
          ...(credential.version === 1 ? ['  version: 1,'] : []),
          '});',
        ]
      : ['']),
    `const reply = await ${isSigned ? 'api' : 'fetch'}(${target}, {`,
    `  method: ${quoteJavaScript(method)},`,
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === '' ? [] : [`  body: ${quoteJavaScript(body)},`]),
    // Otherwise, fetch would send the token to every server that a redirect names.
    ...(isSigned ? [] : ["  redirect: 'error',"]),
    '});',
    'console.log(reply.status, await reply.text());',
    '',
  ].join('\n');
}

function targetOf({ path, query }: ApiRequest): string {
  return path + (query === '' ? '' : `?${query}`);
}

/** Characters that end a line, or that are invisible and change how a reader sees the code. */
const DECEIVING =
  /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}\u3164\u115f\u1160\uffa0]/gu;

/** A text for a POSIX shell. Nothing in single quotes has a special meaning. */
function quoteShell(text: string): string {
  const quoted = (each: string) => `'${each.replaceAll("'", `'\\''`)}'`;
  const escaped = text.replaceAll('\\', '\\\\').replace(DECEIVING, octal);
  return text.search(DECEIVING) === -1 ? quoted(text) : `"$(printf %b ${quoted(escaped)})"`;
}

function quoteJavaScript(text: string): string {
  return JSON.stringify(text).replace(DECEIVING, surrogates);
}

/** An escape of JSON and JavaScript. It stands in strings, so the value is the same. */
function surrogates(character: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return character.split('').map(escaped).join('');
}

function octal(character: string): string {
  const escaped = (byte: number) => `\\0${byte.toString(8).padStart(3, '0')}`;
  return Array.from(new TextEncoder().encode(character), escaped).join('');
}
