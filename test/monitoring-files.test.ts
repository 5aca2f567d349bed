/** The rules and the dashboard of deploy/monitoring use only metrics that the apps export. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readAlerts } from './alert-rules.ts';
import { firstName, readDocument, tableRows } from './documents.ts';
import { root } from './source-tree.ts';

const reference = readDocument('docs/operations/reference.md');
const exported = new Set(
  [
    'Metrics of every server',
    'Metrics of the authorization server and the gateway',
    'Metrics of the authorization server',
    'Metrics of the gateway',
    'Metrics of the device service',
  ].flatMap((heading) => tableRows(reference, heading).map(firstName)),
);

describe.each(['alerts.yml', 'dashboard.json'])('deploy/monitoring/%s', (file) => {
  const text = readFileSync(join(root, 'deploy/monitoring', file), 'utf8');
  const used = text.match(/\b(?:gatehouse|process)_[a-z_]+/g) ?? [];

  test('uses metrics, and all of them are in the reference', () => {
    const names = used.map((name) => (exported.has(name) ? name : name.replace(/_bucket$/, '')));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !exported.has(name))).toEqual([]);
  });
});

test('docs/operations/alerts.md has each alert with its severity, and no other', () => {
  const rows = tableRows(readDocument('docs/operations/alerts.md'), 'Alerts');
  expect(rows.map((row) => [firstName(row), row.cells[1]])).toEqual(
    readAlerts().map(({ alert, severity }) => [alert, severity]),
  );
});

test('Grafana in containers sends no reports, checks no updates and installs no plugins', () => {
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), {
    maxAliasCount: -1,
  });
  expect(services.grafana.environment).toMatchObject({
    GF_ANALYTICS_REPORTING_ENABLED: 'false',
    GF_ANALYTICS_CHECK_FOR_UPDATES: 'false',
    GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES: 'false',
    GF_NEWS_NEWS_FEED_ENABLED: 'false',
    GF_PLUGINS_PLUGIN_ADMIN_ENABLED: 'false',
    GF_PLUGINS_PREINSTALL_DISABLED: 'true',
    GF_SNAPSHOTS_EXTERNAL_ENABLED: 'false',
  });
});
