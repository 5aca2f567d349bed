/** The client that docs/devices.md generates from /openapi.json works, and has precise types. */

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { basic } from '@gatehouse/testing';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { beforeAll, expect, test } from '@jest/globals';
import { createSignedFetch } from '../../packages/client/src/index.ts';

const packages = join(import.meta.dirname, 'node_modules');
const page = readFileSync(join(import.meta.dirname, '../../docs/devices.md'), 'utf8');
const directory = temporaryFolder();
const secureKey = 'generatedClientKey012345';

/** The generated functions that this test calls. */
type Call = (options: object) => Promise<{
  readonly data?: { readonly result: unknown };
  readonly error?: { readonly code: string };
}>;

const client = { clientId: 'generated', name: 'Generated client', orgId: 'acme', secureKey };
const system = await startSystem({
  engine: 'sqlite',
  bootstrap: {
    organizations: [{ id: 'acme', name: 'Acme' }],
    clients: [
      {
        ...client,
        grantTypes: ['client_credentials'],
        scopes: ['device:read', 'device:write'],
      },
    ],
  },
});
let generated: Readonly<Record<string, Call>> & {
  readonly client: { setConfig(config: object): void };
};

beforeAll(async () => {
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(join(directory, 'openapi-ts.config.mjs'), printed('export default'));
  run(join(packages, '@hey-api/openapi-ts/bin/run.js'));
  generated = {
    ...(await import(join(directory, 'client/index.ts'))),
    ...(await import(join(directory, 'client/client.gen.ts'))),
  };
});

/** The code of docs/devices.md that contains the text, for the gateway of this test. */
function printed(text: string): string {
  const blocks = [...page.matchAll(/^```(?:js|ts)\n([\s\S]*?)^```$/gm)].map(
    ([, code = '']) => code,
  );
  const code = blocks.find((block) => block.includes(text)) ?? '';
  return code.replaceAll('http://localhost:8844', system.gatewayUrl);
}

/** Runs a program with Node, and returns its output. */
function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: directory,
    encoding: 'utf8',
  });
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({
    status: 0,
    output: '',
  });
  return stdout;
}

async function issueToken(): Promise<string> {
  const reply = await fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic('generated', secureKey) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return String(Reflect.get((await reply.json()) as object, 'access_token'));
}

test('A generated client has one function for each operation.', async () => {
  const { paths } = JSON.parse(await (await fetch(`${system.gatewayUrl}/openapi.json`)).text());
  const preferred = Object.values(paths as object)
    .flatMap((methods) => Object.values(methods as object))
    .filter(({ deprecated }) => deprecated !== true);
  const functions = Object.keys(await import(join(directory, 'client/sdk.gen.ts')));
  expect(functions).toHaveLength(preferred.length);
  expect(functions).toEqual(
    expect.arrayContaining(['deviceList', 'deviceDetail', 'logQuery', 'accessTokenIssue']),
  );
  expect(functions.filter((name) => /\d/.test(name))).toEqual([]);
});

test('Node runs the programs of docs/devices.md without a bundler.', async () => {
  const library = join(import.meta.dirname, '../../packages/client/src/index.ts');
  for (const part of ['auth: (', 'createSignedFetch']) {
    const program = join(directory, 'printed.ts');
    const code = printed(part).replace('@gatehouse/client', library);
    const values = { token: await issueToken(), clientId: 'generated', secureKey };
    writeFileSync(
      program,
      `const { token, clientId, secureKey } = ${JSON.stringify(values)};
${code}
console.log(error?.code ?? data?.code);
`,
    );
    expect(run(program)).toBe('success\n');
  }
});

test.each([
  [
    'an access token',
    async () => {
      const token = await issueToken();
      const auth = ({ type }: { readonly type: string }) => (type === 'http' ? token : undefined);
      return { auth, fetch };
    },
  ],
  [
    'signed requests of @gatehouse/client',
    async () => {
      const settings = { gateway: system.gatewayUrl, clientId: 'generated', secureKey };
      return { auth: undefined, fetch: createSignedFetch(settings) };
    },
  ],
])('A generated client uses devices with %s.', async (credential, configure) => {
  generated.client.setConfig(await configure());
  const { deviceCreate, deviceQuery, deviceUpdate, deviceDelete, deviceDetail } = generated;
  const id = credential.startsWith('an') ? 'pump-1' : 'pump-2';
  const device = { id, name: 'Pump', productId: 'pump', productName: 'Pump' };
  const created = await deviceCreate?.({ body: device });
  expect(created?.data?.result).toMatchObject({ id, state: { value: 'notActive' } });
  const duplicate = await deviceCreate?.({ body: device });
  expect(duplicate?.error).toMatchObject({ code: 'duplicate_key' });
  const found = await deviceQuery?.({ body: { terms: [{ column: 'id', value: id }] } });
  expect(found?.data?.result).toMatchObject({ total: 1, data: [{ id }] });
  const path = { deviceId: id };
  const changed = await deviceUpdate?.({ path, body: { name: 'Renamed' } });
  expect(changed?.data?.result).toMatchObject({ id, name: 'Renamed' });
  expect((await deviceDelete?.({ path }))?.data).toMatchObject({ code: 'success' });
  expect((await deviceDetail?.({ path }))?.error).toMatchObject({ code: 'not_found' });
});

test('The types of a generated client are those of the device API.', () => {
  const program = join(directory, 'program.ts');
  writeFileSync(
    program,
    `import { deviceCreate, deviceDetail, deviceQuery } from './client/index.ts';

const { data, error } = await deviceDetail({ path: { deviceId: 'pump-1' } });
export const state: 'notActive' | 'offline' | 'online' | undefined = data?.result.state.value;
export const isMissing: boolean = error?.code === 'not_found';
export const page = await deviceQuery({ body: { terms: [{ column: 'id', value: 'pump-1' }] } });
export const total: number | undefined = page.data?.result.total;
// @ts-expect-error: a new device needs a name.
await deviceCreate({ body: { productId: 'pump' } });
// @ts-expect-error: there is no such state.
export const isBroken: boolean = data?.result.state.value === 'broken';
`,
  );
  const options =
    '--noEmit --strict --module nodenext --target es2024 --lib es2024,dom,dom.iterable --allowImportingTsExtensions';
  run(join(packages, 'typescript/bin/tsc'), ...options.split(' '), program);
});
