/** The package as published, in empty projects, against real servers. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  bootstrapOfPrograms,
  clientPrograms,
  secureKey,
  settingsOfPrograms,
} from './client-programs.ts';
import { type PackedPackage, packPackage } from './packed-package.ts';

const MAXIMUM_BYTES = 18 * 1024;
const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');
const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');

const system = await startSystem({ engine: 'sqlite', bootstrap: bootstrapOfPrograms() });
const settings = settingsOfPrograms(system);

let packed: PackedPackage;
beforeAll(async () => {
  packed = await packPackage();
});
afterAll(() => packed.remove());

const projects = new Map<string, Promise<string>>();

/** Each program has its own project. */
function projectOf(name: string): Promise<string> {
  const project = projects.get(name) ?? packed.install();
  projects.set(name, project);
  return project;
}

/** Runs a program and parses what it prints. */
async function runProgram(name: string, changes: object = {}, preload = '') {
  const project = await projectOf(name);
  await writeFile(join(project, 'preload.mjs'), preload);
  const args = ['--import', './preload.mjs', name, JSON.stringify({ ...settings, ...changes })];
  const { stdout } = await run(process.execPath, args, { cwd: project });
  return JSON.parse(stdout);
}

describe('the packed client', () => {
  test('has at most 18 KB', () => {
    expect(packed.bytes).toBeLessThanOrEqual(MAXIMUM_BYTES);
  });

  test.each(clientPrograms)('$title', async ({ file, changes, printed }) => {
    expect(await runProgram(file, changes)).toEqual(printed);
  });

  const clockOff = (days: number) =>
    `const { now } = Date; Date.now = () => now() + ${days} * 864e5;`;
  test.each([
    ['fast', 2, clockOff(1)],
    ['slow', 2, clockOff(-1)],
    ['fast', 1, clockOff(1)],
    ['slow', 1, clockOff(-1)],
  ])('succeeds if its clock is a day %s, with version %i', async (_name, version, preload) => {
    expect(await runProgram(`signed-version-${version}.mjs`, {}, preload)).toMatchObject({
      list: expect.any(Array),
    });
    // This program begins with a POST.
    expect(await runProgram('devices.mjs', { version }, preload)).toMatchObject({ created: 5 });
  });

  test('needs only WebCrypto, except for MD5', async () => {
    const preload = 'process.getBuiltinModule = undefined;';
    expect(await runProgram('signed-version-2.mjs', {}, preload)).toMatchObject({ missing: 404 });
    expect(await runProgram('signed-version-1.mjs', {}, preload)).toMatchObject({ list: [] });
    const md5 = runProgram('signed-version-1.mjs', { clientId: 'md5', digest: 'MD5' }, preload);
    await expect(md5).rejects.toThrow("code: 'digest_unavailable'");
  });

  test('has the README example of at most ten lines, which works as printed', async () => {
    const [, example = ''] = /```js\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(example.trim().split('\n').length).toBeLessThanOrEqual(10);

    const project = await projectOf('example.mjs');
    const text = example.replace('http://localhost:8844', system.gatewayUrl);
    await writeFile(join(project, 'example.mjs'), text);
    const env = { PATH: process.env.PATH, SECURE_KEY: secureKey };
    const { stdout } = await run(process.execPath, ['example.mjs'], { cwd: project, env });
    expect(stdout).toMatch(/^200 \{\s+status: 200,\s+code: 'success'/);
  });

  test('has declarations that need no other package', async () => {
    expect(await compileErrors(typedProgram, ['--types', ''])).toBe('');
  });
});

/** What the compiler prints about a program in a project that has only the package. */
async function compileErrors(program: string, types: readonly string[]): Promise<string> {
  const project = await projectOf('example.mjs');
  await writeFile(join(project, 'program.ts'), program);
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022'];
  const args = [tsc, ...options, '--lib', 'es2024,dom', ...types, 'program.ts'];
  const { stdout } = await run(process.execPath, args, { cwd: project }).catch((error) => error);
  return stdout;
}

const typedProgram = `
import {
  createDeviceClient, createSignedFetch, type Device, type NewLogRecord, readResult,
} from '@gatehouse/client';

const { devices, logs } = createDeviceClient(
  createSignedFetch({ gateway: 'https://x.example', clientId: 'a', secureKey: 'b' }),
);
const device: Device = await devices.get('p-1');
const state: 'notActive' | 'offline' | 'online' = device.state.value;
// @ts-expect-error: the product is required
await devices.create({ name: state });
// @ts-expect-error: no such type
const record: NewLogRecord = { type: 'unknown' };
await logs.report(device.id, [record]);
for await (const { data } of devices.query({ pageSize: 2 })) {
  const name: string | undefined = data[0]?.name;
  console.log(name);
}
const result: { readonly id: string }[] = await readResult<{ id: string }[]>(new Response());
// @ts-expect-error: the type of this result is not known
export const values = [result, (await readResult(new Response())).length];
export const typed: typeof fetch = createSignedFetch({ gateway: '', clientId: '', secureKey: '' });
`;
