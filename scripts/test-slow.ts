/**
 * `npm run test:slow -- [FILE] [Jest options]`: the tests that take minutes, such as statistics of
 * timing, random input and repeated kills.
 *
 * The whole suite runs two files at a time. Then it runs one after the other the files with a line
 * such as `// runs alone: it compares times`.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { memoryFolder } from './memory-folder.ts';
import { runFiles, runSuite } from './run-suite.ts';
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
const environment = { ...memoryFolder(), SLOW_TESTS: '1' };
const passed =
  args.length > 0 ? runSuite({ folder: '', suffix: '.slow.test.ts' }, args, environment) : runAll();
// Fails if 500 slow clients delay other requests considerably.
const resistsSlowClients =
  args.length > 0 ||
  spawnSync(process.execPath, ['bench/slow-clients/run.ts', '3', '4'], { stdio: 'inherit' })
    .status === 0;
process.exitCode = passed && resistsSlowClients ? 0 : 1;

function runAll(): boolean {
  const files = globSync('{apps,packages,test}/**/*.slow.test.ts', {
    exclude: (path) => path.includes('node_modules'),
  });
  const runsAlone = (file: string) => /^\/\/ runs alone: ./m.test(readFileSync(file, 'utf8'));
  const others = files.filter((file) => !runsAlone(file));
  const passedTogether = runFiles(others, 2, environment);
  return runFiles(files.filter(runsAlone), 1, environment) && passedTogether;
}
