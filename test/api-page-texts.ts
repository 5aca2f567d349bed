/** The sections of docs/api.md that are not generated. */
export const apiPageTexts = {
  introduction: `# API reference

This page lists every operation of the device API, with its parameters, bodies and replies. The
[guide to devices](devices.md) explains how to use them. The gateway serves the same description as
an OpenAPI 3.1 document at \`/openapi.json\`, without a credential. It describes the built-in routes
that this gateway serves, and [omits routes](routes.md#in-the-openapi-document) to other services.

<!-- npm run update:api writes this page from packages/device-api/src/. -->`,
  generate: `## Generate a client

[@gatehouse/client](../packages/client/README.md) has typed operations for JavaScript. To generate a
TypeScript client, save this configuration as \`openapi-ts.config.mjs\`:

\`\`\`js
export default {
  input: 'http://localhost:8844/openapi.json',
  output: { path: 'client', module: { extension: '.ts' } },
  parser: { filters: { deprecated: false } },
};
\`\`\`

- \`module\` lets Node import the client without a bundler. With a bundler, omit it.
- \`parser\` omits the equivalent routes, so the client has one function for each operation.

Run the generator in the same folder, with Node 22.18 or later:

\`\`\`sh
npx -y -p typescript@6.0.3 -p @hey-api/openapi-ts@0.99.0 openapi-ts
\`\`\`

Pass the access token to \`http\` schemes only. A request with several credentials gets 400.

\`\`\`ts
import { client } from './client/client.gen.ts';
import { deviceList } from './client/index.ts';

client.setConfig({
  baseUrl: 'http://localhost:8844',
  auth: ({ type }) => (type === 'http' ? token : undefined),
});
const { data, error } = await deviceList();
\`\`\`

A generated client cannot sign requests. In JavaScript, replace its \`fetch\`:

\`\`\`ts
import { createSignedFetch } from '@gatehouse/client';
import { client } from './client/client.gen.ts';
import { deviceList } from './client/index.ts';

client.setConfig({
  baseUrl: 'http://localhost:8844',
  fetch: createSignedFetch({ gateway: 'http://localhost:8844', clientId, secureKey }),
});
const { data, error } = await deviceList();
\`\`\`

For another language, use a generator that supports OpenAPI 3.1. Give the client an access token, or
sign its requests with a [signer](../signers/README.md) in C, Go, Java, PHP or Python.`,
  authentication: `## Authentication

Send exactly one of these credentials. The first column names the security scheme in the OpenAPI
document. A signature consists of several headers, and each one is a scheme. An operation with a
scope accepts all credentials.`,
  parameters: `## Parameters

The parameters of a query belong to its GET routes. Its POST routes have the same members in the
body.`,
  errors: `## Errors

A failed request gets an [Error](#error). [Errors](errors.md) explains each code.`,
  replies: `## Schemas

A successful reply is an object with the members \`status\` (200), \`code\` (\`success\`), \`message\`
(\`success\`) and \`timestamp\`. An operation that returns something also has the member \`result\`.
The replies below are the values of \`result\`.`,
} as const;
