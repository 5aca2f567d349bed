/**
 * The shown call as code for a shell and for JavaScript. Secrets are never part of it: the program
 * reads them from the environment.
 */
import { version1Text } from '@gatehouse/signing/core';
import type { Credential } from './credentials.ts';
import { find, show } from './elements.ts';
import type { ApiRequest } from './operations.ts';

interface Call {
  readonly gatewayUrl: string;
  readonly request: ApiRequest;
  readonly credential: Credential;
}

type SecureKey = Extract<Credential, { kind: 'secure-key' }>;

const languages = { curl: curlCall, javascript: javascriptCall };

export function showCall(call: Call): void {
  for (const [language, write] of Object.entries(languages)) {
    show(`code-${language}`, write(call));
    find(`copy-${language}`, HTMLButtonElement).onclick = async () => {
      const copying = navigator.clipboard.writeText(write(call));
      const refused = 'Select the text to copy it.';
      show('copied', await copying.then(() => 'Copied.').catch(() => refused));
    };
  }
  show('copied');
}

/** A call for a POSIX shell with curl, and with openssl for a signature. */
function curlCall({ gatewayUrl, request: shown, credential }: Call): string {
  const request = { ...shown, body: shown.body.replace(DECEIVING, surrogates) };
  const { method, contentType, body } = request;
  const isSigned = credential.kind === 'secure-key';
  const options = [
    `curl -sS -X ${method} ${quoteShell(gatewayUrl + targetOf(request))}`,
    ...(contentType === '' ? [] : [`-H ${quoteShell(`Content-Type: ${contentType}`)}`]),
    ...credentialHeaders(credential).map((header) => `-H ${header}`),
    ...(body === '' ? [] : ['--data-raw "$body"']),
  ];
  return [
    `# Set ${credential.variable} before you run this.`,
    ...(body !== '' || isSigned ? [`body=${quoteShell(body)}`] : []),
    ...(isSigned ? signatureLines(request, credential) : []),
    options.join(' \\\n  '),
    '',
  ].join('\n');
}

function credentialHeaders(credential: Credential): readonly string[] {
  if (credential.kind === 'token') {
    const { header, prefix, variable } = credential;
    return [`"${header}: ${prefix}$${variable}"`];
  }
  return [
    quoteShell(`X-Client-Id: ${credential.clientId}`),
    '"X-Timestamp: $timestamp"',
    ...(credential.version === 2
      ? ['"X-Nonce: $nonce"', '"X-Sign-V2: $signature"']
      : ['"X-Sign: $signature"']),
  ];
}

function signatureLines(request: ApiRequest, { version, clientId }: SecureKey): readonly string[] {
  if (version === 1) {
    return [
      '# POSIX has no milliseconds. Without random ones, a second call is a replay.',
      'timestamp="$(date +%s)$(printf %03d $(($(od -An -N2 -tu2 /dev/urandom) % 1000)))"',
      `text=${quoteShell(String(version1Text(request)))}`,
      'signature="$(printf %s "$text$timestamp$SECURE_KEY" | openssl dgst -sha256 -r | cut -c1-64)"',
    ];
  }
  const { method, path, query, contentType } = request;
  const quoted = [path, query, contentType].map(quoteShell).join(' ');
  const lines = `GATEHOUSE-V2 ${method} ${quoted} "$hash" ${quoteShell(clientId)} "$timestamp" "$nonce"`;
  return [
    'timestamp="$(date +%s)000"',
    'nonce="$(openssl rand -hex 16)"',
    'hash="$(printf %s "$body" | openssl dgst -sha256 -r | cut -c1-64)"',
    `lines="$(printf '%s\\n' ${lines})"`,
    '# While openssl runs, other users of the machine can see the key in the process list.',
    'signature="$(printf %s "$lines" | openssl dgst -sha256 -hmac "$SECURE_KEY" -r | cut -c1-64)"',
  ];
}

/** A module for Node, Deno or Bun. Signed calls use the client library, which verifies the reply. */
function javascriptCall({ gatewayUrl: gateway, request, credential }: Call): string {
  const { method, contentType, body } = request;
  const target = targetOf(request);
  const headers = contentType === '' ? {} : { 'Content-Type': contentType };
  // Otherwise, fetch would send the token to every server that a redirect names.
  const options = { method, redirect: 'error', headers, ...(body !== '' && { body }) };
  const start = [
    `// Set ${credential.variable} before you run this.`,
    "import { env } from 'node:process';",
    `const options = ${quoteJavaScript(options)};`,
  ];
  const end = ['console.log(reply.status, await reply.text());', ''];
  if (credential.kind === 'token') {
    const { header, prefix, variable } = credential;
    const send = [
      `options.headers['${header}'] = \`${prefix}\${env.${variable}}\`;`,
      `const reply = await fetch(${quoteJavaScript(gateway + target)}, options);`,
    ];
    return [...start, ...send, ...end].join('\n');
  }
  const { clientId, version } = credential;
  const send = [
    '// The library is not on npm yet. Pack it as docs/guides.md#backend-service shows.',
    "import { createSignedFetch } from '@gatehouse/client';",
    `const client = ${quoteJavaScript({ gateway, clientId, version })};`,
    'const api = createSignedFetch({ ...client, secureKey: env.SECURE_KEY });',
    `const reply = await api(${quoteJavaScript(target)}, options);`,
  ];
  return [...start, ...send, ...end].join('\n');
}

function targetOf({ path, query }: ApiRequest): string {
  return path + (query === '' ? '' : `?${query}`);
}

/** Control characters, and those that are invisible and change how a reader sees the code. */
const DECEIVING =
  /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}\u3164\u115f\u1160\uffa0]/gu;

/** A text for a POSIX shell. Nothing in single quotes has a special meaning. */
function quoteShell(text: string): string {
  const quoted = (each: string) => `'${each.replaceAll("'", `'\\''`)}'`;
  const escaped = text.replaceAll('\\', '\\\\').replace(DECEIVING, octal);
  return text.search(DECEIVING) === -1 ? quoted(text) : `"$(printf %b ${quoted(escaped)})"`;
}

function quoteJavaScript(value: string | object): string {
  return JSON.stringify(value, null, 2).replace(DECEIVING, surrogates);
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
