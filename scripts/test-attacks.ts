/** `npm run test:attacks`: the attack scripts of test/attacks/. Arguments go to Jest. */
import { spawnSync } from 'node:child_process';
import { installMissingServices } from './services.ts';

installMissingServices(['redis-server', 'redis-cli']);
const { status } = spawnSync(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    // One attack at a time: what is asserted about the others' requests must not depend on a second attack.
    '--runInBand',
    '--testPathPatterns',
    '/test/attacks/',
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit', env: { ...process.env, ATTACK_TESTS: '1' } },
);
process.exitCode = status === 0 ? 0 : 1;
