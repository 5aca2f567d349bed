/**
 * `npm test`: runs every test that has no command of its own, with real services. Arguments go to
 * Jest. With ALLOW_MISSING_SERVICES=1, it skips the tests whose services are missing, and lists
 * them.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { memoryFolder } from './memory-folder.ts';
import { installMissingServices, missingServices } from './services.ts';

const jest = [
  '--experimental-vm-modules',
  // Otherwise, a pause of 250 ms makes a request fail where localhost also has the address ::1.
  '--network-family-autoselection-attempt-timeout=5000',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
];

/** Repeats jest.config.ts, because patterns on the command line replace its own. */
const always = [
  '/node_modules/',
  '\\.slow\\.test\\.ts$',
  '\\.browser\\.test\\.ts$',
  '/test/compose/',
  '/test/attacks/',
  '/test/clients/',
  '/test/faults/',
];

const skipped = suitesToSkip();
for (const suite of skipped) {
  console.error(`Skipped: ${suite.file} (needs ${suite.needs.join(', ')})`);
}
const selected = process.argv.slice(2);
const ignored = skipped.flatMap(({ file }) => ['--testPathIgnorePatterns', `/${file}$`]);
const passed = run(
  ...jest,
  // Jest treats arguments after a list of patterns as more patterns, so these come first.
  ...selected,
  ...(ignored.length > 0 ? ['--testPathIgnorePatterns', ...always, ...ignored] : []),
);
process.exitCode = passed ? 0 : 1;

function run(...parameters: string[]): boolean {
  const env = { ...process.env, ...memoryFolder() };
  return spawnSync(process.execPath, parameters, { stdio: 'inherit', env }).status === 0;
}

/**
 * The first line of a test file lists the programs it needs: `// requires: redis-server chromium`.
 */
function suitesToSkip(): { file: string; needs: string[] }[] {
  const suites = globSync('{apps,packages,scripts,test}/**/*.test.ts', {
    exclude: (path) => always.some((pattern) => new RegExp(pattern).test(`/${path}`)),
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
