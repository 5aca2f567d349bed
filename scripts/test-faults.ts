/**
 * `npm run test:faults`: Redis alone, with Sentinel and as a cluster, killed, frozen, cut off, slowed, failed over,
 * resharded and filled under the load of real servers. `npm run test:faults -- sentinel` runs one file; further
 * arguments go to Jest.
 */
import { spawnSync } from 'node:child_process';
import { installMissingServices } from './services.ts';

installMissingServices(['redis-server', 'openssl']);
const [file = '', ...further] = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    // One topology at a time: they share the processors.
    '--runInBand',
    '--testPathPatterns',
    `/test/faults/${file}`,
    ...further,
  ],
  { stdio: 'inherit', env: { ...process.env, FAULT_TESTS: '1' } },
);
process.exitCode = status ?? 1;
