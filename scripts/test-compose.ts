/**
 * `npm run test:compose -- [FILE] [Jest options]`: builds the image and tests the containers of
 * docker-compose.yml from outside.
 */
import { spawnSync } from 'node:child_process';
import { runSuite } from './run-suite.ts';
import { installMissingServices } from './services.ts';

const GATEHOUSE_IMAGE = 'gatehouse:test';

if (!succeeds('docker', 'info') || !succeeds('docker', 'compose', 'version')) {
  console.error(
    'Docker is not available. Install Docker Engine 25 and Compose 2.24, or later, and start the engine.',
  );
  process.exit(1);
}
installMissingServices(['chromium', 'curl', 'kubectl', 'openssl', 'prometheus']);
const build = spawnSync('docker', ['compose', 'build', '--quiet', 'secrets'], {
  stdio: 'inherit',
  env: { ...process.env, GATEHOUSE_IMAGE },
});
if (build.status !== 0) {
  process.exit(1);
}
const suite = { folder: 'test/compose', suffix: '.test.ts' };
const environment = { GATEHOUSE_IMAGE, COMPOSE_TESTS: '1' };
process.exitCode = runSuite(suite, process.argv.slice(2), environment) ? 0 : 1;

function succeeds(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}
