import type { Finding } from './finding.ts';
import { severities } from './severity.ts';

/** The findings for people. */
export function describeFindings(findings: readonly Finding[]): string {
  const counts = severities.map((severity) => {
    const count = findings.filter((each) => each.severity === severity).length;
    return `${count} ${severity}${count === 1 ? '' : 's'}`;
  });
  if (findings.length === 0) {
    return 'Found no problem.';
  }
  return [...findings.map(describeFinding), `${counts.join(', ')}.`].join('\n\n');
}

function describeFinding({ id, severity, what, why, fix }: Finding): string {
  return [`${severity.toUpperCase()}  ${what}  (${id})`, `  Why: ${why}`, `  Fix: ${fix}`].join(
    '\n',
  );
}
