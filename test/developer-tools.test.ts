// requires: curl
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runGatehouse } from '../apps/cli/test/run-gatehouse.ts';
import {
  type BootedGateway,
  bootGateway,
  closeUnharmed,
} from '../apps/gateway/test/booted-gateway.ts';
import { readDocument, section } from './documents.ts';

let booted: BootedGateway;
let directory: string;

beforeAll(async () => {
  booted = await bootGateway();
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-developer-'));
  writeFileSync(join(directory, 'key'), booted.secureKey);
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await closeUnharmed(booted);
});

const gatehouse = (args: readonly string[]) =>
  runGatehouse({ INIT_CWD: directory }, [...args, '--key-file', 'key']);

/** Pastes a command into a shell in the folder of the files. */
async function paste(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent --max-time 10`], {
    cwd: directory,
    env: { ...process.env, GATEWAY_URL: `http://127.0.0.1:${booted.port}` },
  });
  return stdout;
}

const body = `{"id":"d1","name":"it's \\"quoted\\" $HOME \`id\` 张\\n"}\n\n`;

test.each([
  ['GET', '/api/device'],
  ['GET', '/api/device?pageSize=20&where=name%20like%20%25%E5%BC%A0%25&a=%2B'],
  ['GET', "/api/device?where=it's[1]{2}&a=!$HOME"],
  ['HEAD', '/api/device?pageSize=20'],
  ['DELETE', '/api/v1/device/d1'],
  ['POST', '/device-instance', '--body-file', "it's a body.json"],
  ['POST', '/api/v1/device/d1/_deploy'],
  ['PATCH', '/api/v1/device/d1', '--body-file', "it's a body.json"],
  ['POST', '/device/instance/_query', '--body-file', 'empty'],
  [
    ...['POST', '/device-instance', '--body-file', 'form'],
    ...['--content-type', 'application/x-www-form-urlencoded; charset=utf-8'],
  ],
  ['POST', '/device-instance', '--body-file', "it's a body.json", '--content-type', ''],
])('The gateway accepts the pasted commands for %s %s %s %s', async (...args) => {
  writeFileSync(join(directory, "it's a body.json"), body);
  writeFileSync(join(directory, 'empty'), '');
  writeFileSync(join(directory, 'form'), 'b=2&a=%20x');
  const { code, json } = await gatehouse(['sign', ...args, '--client', 'demo', '--json']);
  expect(code).toBe(0);
  for (const version of ['version1', 'version2']) {
    booted.upstream.requests.length = 0;
    const output = await paste(json[version].curl);
    expect(output).toMatch(/^HTTP\/1\.1 20[04] /);
    expect(booted.upstream.requests).toHaveLength(1);
  }
});

test('The commands of the signing guide work as they are written.', async () => {
  const commands = [
    ...section(readDocument('docs/signing.md'), 'Check your signatures').matchAll(
      /```sh\n([^`]*)```/g,
    ),
  ];
  const [sign = [], verify = []] = commands.map(([, command = '']) =>
    command.replaceAll('\\\n', ' ').trim().split(/\s+/).slice('npx gatehouse'.split(' ').length),
  );
  for (const name of ['key.txt', 'body.json', 'request.txt']) {
    writeFileSync(join(directory, name), name === 'key.txt' ? booted.secureKey : '{}');
  }
  const environment = { INIT_CWD: directory };
  const { code, json } = await runGatehouse(environment, [...sign, '--json']);
  expect([code, json.version2.lines[1]]).toEqual([0, 'POST']);
  const { headers } = json.version2;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const request = ['POST /device-instance HTTP/1.1', ...lines, 'Content-Length: 2', '', '{}'];
  writeFileSync(join(directory, 'request.txt'), request.join('\n'));
  expect((await runGatehouse(environment, verify)).output).toContain('Verified');
});
