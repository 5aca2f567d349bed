/**
 * `npm test`: format and lint, types, then every test, with real services. Arguments go to Jest.
 * With ALLOW_MISSING_SERVICES=1 the suites whose service is missing are left out, by name.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { installMissingServices, missingServices } from './services.ts';

const jest = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
];

/** Patterns on the command line replace those of jest.config.ts. */
const always = [
  '/node_modules/',
  '\\.slow\\.test\\.ts$',
  '/test/compose/',
  '/test/attacks/',
  '/test/faults/',
];

const leftOut = suitesToLeaveOut();
for (const suite of leftOut) {
  console.error(`Left out: ${suite.file} (needs ${suite.needs.join(', ')})`);
}
const selected = process.argv.slice(2);
const ignored = leftOut.flatMap(({ file }) => ['--testPathIgnorePatterns', `/${file}$`]);
const passed =
  (selected.length > 0 || run('scripts/check-static.ts')) &&
  run(
    ...jest,
    // First: Jest would take what follows a list of patterns for more of them.
    ...selected,
    ...(ignored.length > 0 ? ['--testPathIgnorePatterns', ...always, ...ignored] : []),
  );
process.exitCode = passed ? 0 : 1;

function run(...parameters: string[]): boolean {
  return spawnSync(process.execPath, parameters, { stdio: 'inherit' }).status === 0;
}

/** A test file names what it needs of the machine in its first line: `// requires: redis-server chromium`. */
function suitesToLeaveOut(): { file: string; needs: string[] }[] {
  const suites = globSync('{apps,packages,scripts,test}/**/*.test.ts', {
    exclude: (path) => path.includes('node_modules'),
  }).map((file) => {
    const [firstLine = ''] = readFileSync(file, 'utf8').split('\n', 1);
    return { file, needs: /^\/\/ requires: (.+)$/.exec(firstLine)?.[1]?.split(' ') ?? [] };
  });
  const needed = [...new Set(suites.flatMap((suite) => suite.needs))];
  if (process.env.ALLOW_MISSING_SERVICES !== '1') {
    installMissingServices(needed);
    return [];
  }
  const missing = missingServices(needed);
  return suites
    .map(({ file, needs }) => ({ file, needs: needs.filter((name) => missing.includes(name)) }))
    .filter((suite) => suite.needs.length > 0);
}
