import type { Config } from 'jest';

const config: Config = {
  testEnvironment: 'node',
  cacheDirectory: 'node_modules/.cache/jest',
  testMatch: ['**/*.test.ts'],
  // Each of these suites has its own command in package.json.
  testPathIgnorePatterns: [
    '/node_modules/',
    '/data/',
    ...(process.env.SLOW_TESTS === '1' ? [] : ['\\.slow\\.test\\.ts$']),
    ...(process.env.BROWSER_TESTS === '1' ? [] : ['\\.browser\\.test\\.ts$']),
    ...(process.env.ATTACK_TESTS === '1' ? [] : ['/test/attacks/']),
    ...(process.env.CLIENT_TESTS === '1' ? [] : ['/test/clients/']),
    ...(process.env.FAULT_TESTS === '1' ? [] : ['/test/faults/']),
    ...(process.env.COMPOSE_TESTS === '1' ? [] : ['/test/compose/']),
  ],
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
  // One worker per core. With one more, tests of many connections miss the deadline of the store.
  maxWorkers: '100%',
  // Ends a test that hangs. On a busy machine, other tests can take many seconds.
  testTimeout: 120_000,
};

export default config;
