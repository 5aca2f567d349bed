import type { Config } from 'jest';

/** The files of each suite. Every other test belongs to the suite `unit`, which `npm test` runs. */
const suites = {
  slow: '\\.slow\\.test\\.ts$',
  browser: '\\.browser\\.test\\.ts$',
  attacks: '/test/attacks/[^.]*\\.test\\.ts$',
  clients: '/test/clients/.*\\.test\\.ts$',
  faults: '/test/faults/.*\\.test\\.ts$',
  compose: '/test/compose/.*\\.test\\.ts$',
};

/** Files whose programs are missing. scripts/test.ts sets it. */
const skippedFiles = (process.env.SKIPPED_TESTS ?? '').split(' ').filter((file) => file !== '');

const common = {
  testEnvironment: 'node',
  cacheDirectory: 'node_modules/.cache/jest',
  modulePathIgnorePatterns: ['<rootDir>/data/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
} as const;
const ignored = ['/node_modules/', '/data/', ...skippedFiles.map((file) => `/${file}$`)];

const config: Config = {
  projects: [
    {
      ...common,
      displayName: 'unit',
      testRegex: '\\.test\\.ts$',
      testPathIgnorePatterns: [...ignored, ...Object.values(suites)],
    },
    ...Object.entries(suites).map(([displayName, testRegex]) => ({
      ...common,
      displayName,
      testRegex,
      testPathIgnorePatterns: ignored,
    })),
  ],
  // One worker per core. With one more, tests of many connections miss the deadline of the store.
  maxWorkers: '100%',
  // Ends a test that hangs. On a busy machine, other tests can take many seconds.
  testTimeout: 120_000,
};

export default config;
