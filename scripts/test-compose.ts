/**
 * `npm run test:compose`: builds the image and drives the tier of docker-compose.yml from outside, with the
 * `docker compose` that the shell finds. Needs chromium and openssl beside it. Arguments go to Jest.
 */
import { spawnSync } from 'node:child_process';
import { installMissingServices } from './services.ts';

const image = { ...process.env, GATEHOUSE_IMAGE: 'gatehouse:test' };

if (!succeeds('docker', 'info') || !succeeds('docker', 'compose', 'version')) {
  console.error(
    'No Docker engine answers, or `docker compose` is missing. Needed: Docker Engine 25 and Compose 2.24, or later.',
  );
  process.exit(1);
}
installMissingServices(['chromium', 'curl', 'openssl']);
const built = spawnSync('docker', ['compose', 'build', '--quiet', 'secrets'], {
  stdio: 'inherit',
  env: image,
});
if (built.status !== 0) {
  process.exit(1);
}
const { status } = spawnSync(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    // One tier at a time: what is measured here shares the machine with nothing else of ours.
    '--runInBand',
    '--testPathPatterns',
    '/test/compose/',
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit', env: { ...image, COMPOSE_TESTS: '1' } },
);
process.exitCode = status === 0 ? 0 : 1;

function succeeds(program: string, ...words: readonly string[]): boolean {
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0;
}
