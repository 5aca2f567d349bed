import type { Config } from 'jest';

const config: Config = {
  testEnvironment: 'node',
  testMatch: ['**/*.test.ts'],
  // What takes minutes has its own command: npm run test:slow.
  testPathIgnorePatterns: [
    '/node_modules/',
    '/data/',
    ...(process.env.SLOW_TESTS === '1' ? [] : ['\\.slow\\.test\\.ts$']),
    // Attacks, too: npm run test:attacks.
    ...(process.env.ATTACK_TESTS === '1' ? [] : ['/test/attacks/']),
    // Stores that are broken under load, too: npm run test:faults.
    ...(process.env.FAULT_TESTS === '1' ? [] : ['/test/faults/']),
    // What needs a Docker engine too: npm run test:compose.
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
  // The tests wait for processes more than they compute: one worker a core, not one fewer.
  maxWorkers: '100%',
  testTimeout: 30_000,
};

export default config;
