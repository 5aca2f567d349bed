import { type CopiedCall, targetOf, variableOf } from './copied-call.ts';
import { quoteJavaScript } from './quote.ts';

/** A module for Node, Deno or Bun. Signed calls use the client library, which verifies the reply. */
export function javascriptCall({ gatewayUrl, request, credential }: CopiedCall): string {
  const { method, contentType, body } = request;
  const isSigned = credential.kind === 'secure-key';
  const headers = [
    ...(contentType === '' ? [] : [`'Content-Type': ${quoteJavaScript(contentType)}`]),
    ...(credential.kind === 'access-token' ? ["Authorization: 'Bearer ' + env.ACCESS_TOKEN"] : []),
    ...(credential.kind === 'x-access-token' ? ["'X-Access-Token': env.X_ACCESS_TOKEN"] : []),
  ];
  const options = [
    `  method: ${quoteJavaScript(method)},`,
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === undefined ? [] : [`  body: ${quoteJavaScript(body)},`]),
    // Otherwise, fetch would send the token to every server that a redirect names.
    ...(isSigned ? [] : ["  redirect: 'error',"]),
  ];
  const target = targetOf(request);
  return [
    ...(isSigned
      ? [
          '// Set SECURE_KEY before you run this. @gatehouse/client is not on npm yet. Pack it from the',
          '// Gatehouse repository as docs/guides.md#backend-service shows.',
          "import { env } from 'node:process';",
          "import { createSignedFetch } from '@gatehouse/client';",
          '',
          'const api = createSignedFetch({',
          `  gateway: ${quoteJavaScript(gatewayUrl)},`,
          `  clientId: ${quoteJavaScript(credential.clientId)},`,
          '  secureKey: env.SECURE_KEY,',
          ...(credential.version === 1 ? ['  version: 1,'] : []),
          '});',
          `const reply = await api(${quoteJavaScript(target)}, {`,
        ]
      : [
          `// Set ${variableOf(credential)} before you run this.`,
          "import { env } from 'node:process';",
          '',
          `const reply = await fetch(${quoteJavaScript(gatewayUrl + target)}, {`,
        ]),
    ...options,
    '});',
    'console.log(reply.status, await reply.text());',
    '',
  ].join('\n');
}
