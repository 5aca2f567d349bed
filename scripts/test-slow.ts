/**
 * `npm run test:slow`: the suites that take minutes (kill -9 in numbers, ends under load, backups, statistics of timing,
 * random input).
 */
import { spawnSync } from 'node:child_process';
import { installMissingServices } from './services.ts';

const services = ['redis-server', 'redis-cli', 'postgresql', 'sqlite3', 'python3', 'slowhttptest'];
installMissingServices(services);
const { status } = spawnSync(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    '--runInBand',
    '--testPathPatterns',
    '\\.slow\\.test\\.ts$',
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit', env: { ...process.env, SLOW_TESTS: '1' } },
);
// Good requests beside 500 slow clients: ends with 1 where they take more than twice as long as alone.
const slowClients =
  process.argv.length > 2
    ? { status: 0 }
    : spawnSync(process.execPath, ['bench/slow-clients/run.ts', '3', '4'], { stdio: 'inherit' });
process.exitCode = status === 0 && slowClients.status === 0 ? 0 : 1;
