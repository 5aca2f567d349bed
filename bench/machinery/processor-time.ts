import { readdirSync, readFileSync } from 'node:fs';

/** User and system time of the processes and their descendants. The kernel counts in hundredths. */
export function processorSeconds(pids: readonly number[]): number {
  return pids
    .flatMap(familyOf)
    .map((pid) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) / 100;
    })
    .reduce((sum, each) => sum + each, 0);
}

/** The process and its descendants. */
export function familyOf(pid: number): readonly number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .split(' ')
      .filter((each) => each.trim() !== '')
      .map(Number),
  );
  return [pid, ...children.flatMap(familyOf)];
}

export function residentMebibytes(pid: number): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) / 1024;
}
