import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './source-tree.ts';

export interface AlertRule {
  readonly alert: string;
  readonly severity: string;
  /** The rule as it is in the file. */
  readonly text: string;
}

/** The alert rules of deploy/monitoring/alerts.yml, in order. */
export function readAlerts(): readonly AlertRule[] {
  const file = readFileSync(join(root, 'deploy/monitoring/alerts.yml'), 'utf8');
  return file
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((text) => ({
      alert: /^\w+/.exec(text)?.[0] ?? '',
      severity: /severity: (\w+)/.exec(text)?.[1] ?? '',
      text,
    }));
}
