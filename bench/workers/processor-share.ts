import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';
/** Short, so that a process never waits for long. The kernel allows 1 ms of time at least. */
const PERIOD_MICROSECONDS = 10_000;

const groups: string[] = [];

/** Limits a process to a share of one core, in a control group of its own. Needs root. */
export function limitProcessor(pid: number, share: number): void {
  const isFirstVersion = existsSync(join(V1, 'cpu.cfs_quota_us'));
  const group = join(isFirstVersion ? V1 : V2, `gatehouse-bench-${process.pid}-${pid}`);
  mkdirSync(group);
  groups.push(group);
  const quota = Math.round(share * PERIOD_MICROSECONDS);
  if (isFirstVersion) {
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_MICROSECONDS));
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota));
  } else {
    writeFileSync(join(group, 'cpu.max'), `${quota} ${PERIOD_MICROSECONDS}`);
  }
  writeFileSync(join(group, 'cgroup.procs'), String(pid));
}

/** Removes the groups of processes that have ended. */
export function removeGroups(): void {
  for (const group of groups.splice(0)) {
    rmdirSync(group);
  }
}
