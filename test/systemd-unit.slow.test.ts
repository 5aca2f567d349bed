/**
 * Starts the servers with the keys, the environment and the command of docs/operations/deploy.md
 * for systemd.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { codeBlock, readDocument } from './documents.ts';
import { commandsNamed, runCommands } from './operators-commands.ts';
import { root } from './source-tree.ts';

const directory = temporaryFolder();
const keys = join(directory, 'keys');
const environmentFile = join(directory, 'gatehouse.env');
const unit = codeBlock(readDocument('docs/operations/deploy.md'), 'ini systemd-unit');

function setting(name: string): string {
  return new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
}

beforeAll(() => {
  // This machine has no such group.
  const commands = commandsNamed('generate-keys').replaceAll(' -g gatehouse', '');
  runCommands(commands.replaceAll('/etc/gatehouse', keys), {});
  const environment = commandsNamed('systemd-environment')
    .replaceAll('/etc/gatehouse', keys)
    .replace(/^STORE_URL=.*$/m, `STORE_URL=sqlite:${directory}/store.sqlite`)
    .replace(/^DATABASE_URL=.*$/m, `DATABASE_URL=sqlite:${directory}/devices.sqlite`)
    .replace('/var/cache/gatehouse', join(directory, 'cache'));
  const ports = ['AUTHORIZATION_SERVER', 'GATEWAY', 'DEVICE_SERVICE', 'OPERATIONS'];
  writeFileSync(environmentFile, environment + ports.map((name) => `${name}_PORT=0\n`).join(''));
});

describe('the unit for systemd', () => {
  test.each(['authorization-server', 'gateway', 'device-service'])(
    'starts the %s on a public address, and SIGTERM ends it',
    async (app) => {
      const command = setting('ExecStart')
        .replace('/usr/bin/node', process.execPath)
        .replace('%i', app);
      const script = `set -a; . ${environmentFile}; set +a; exec ${command}`;
      const child = spawn('bash', ['-eu', '-c', script], {
        cwd: root,
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        env: { PATH: process.env.PATH },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', (chunk: Buffer) => {
          output += chunk.toString();
        });
      }
      const closed = once(child, 'close');
      await Promise.race([once(child, 'message'), closed]);
      child.kill('SIGTERM');
      await closed;
      expect(output).toContain('"msg":"listening"');
      expect(child.exitCode).toBe(0);
    },
  );
});
