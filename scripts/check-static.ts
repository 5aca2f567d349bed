import { spawnSync } from 'node:child_process';

/** Format, lint and types. Every step runs, so that one call shows everything that is wrong. */
const steps = [
  ['@biomejs/biome/bin/biome', 'check', '.'],
  ['typescript/bin/tsc', '--noEmit'],
];

const failed = steps.filter(([script = '', ...args]) => {
  const { status } = spawnSync(process.execPath, [`node_modules/${script}`, ...args], {
    stdio: 'inherit',
  });
  return status !== 0;
});
process.exitCode = failed.length === 0 ? 0 : 1;
