/**
 * `npm run test:slow -- [FILE] [Jest options]`: the tests that take minutes, such as statistics of
 * timing, random input and repeated kills.
 */
import { spawnSync } from 'node:child_process';
import { memoryFolder } from './memory-folder.ts';
import { runSuite } from './run-suite.ts';
import { installMissingServices } from './services.ts';

const args = process.argv.slice(2);
const services = [
  'redis-server',
  'redis-cli',
  'postgresql',
  'sqlite3',
  'python3',
  'slowhttptest',
  'chromium',
  'nginx',
  'caddy',
  'haproxy',
  'prometheus',
  'kubectl',
  'curl',
  'openssl',
  'cc',
  'go',
  'javac',
  'php',
  'arm-none-eabi-gcc',
];
installMissingServices(services);
const passed = runSuite({ folder: '', suffix: '.slow.test.ts' }, args, {
  ...memoryFolder(),
  SLOW_TESTS: '1',
});
// Fails if requests take more than twice as long while 500 slow clients are connected.
const resistsSlowClients =
  args.length > 0 ||
  spawnSync(process.execPath, ['bench/slow-clients/run.ts', '3', '4'], { stdio: 'inherit' })
    .status === 0;
process.exitCode = passed && resistsSlowClients ? 0 : 1;
