// requires: prometheus
/** Each alert of deploy/monitoring fires for its own signal, and no other alert does. */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

const monitoring = join(root, 'deploy/monitoring');
const jobs = {
  GATEWAY: 'job="gatehouse-gateway",instance="g:8944"',
  SERVER: 'job="gatehouse-authorization-server",instance="a:9100"',
  DEVICES: 'job="gatehouse-device-service",instance="d:8950"',
} as const;
const disk = '{instance="h:9100",mountpoint="/",fstype="ext4"}';

/**
 * Alert, the time at which it fires, and the series that it fires for: the name, a space, and the
 * values in promtool's notation.
 */
const signals: readonly (readonly [alert: string, at: string, ...series: readonly string[]])[] = [
  ['GatehouseAppDown', '2m', 'up{GATEWAY} 0x20'],
  ['GatehouseAppMissing', '4m', 'up{GATEWAY} 1 1 1 stale'],
  ['GatehouseNoWorkers', '2m', 'gatehouse_workers{GATEWAY} 0x20'],
  ['GatehouseAppRestarts', '2m', 'process_start_time_seconds{GATEWAY} 1 1 20 20 30 30 40 40 50'],
  ['GatehouseWorkerRestarts', '2m', 'gatehouse_worker_restarts_total{GATEWAY} 0 0 1x20'],
  ['GatehouseStoreUnavailable', '2m', 'gatehouse_store_state{state="unavailable",GATEWAY} 1x20'],
  ['GatehouseStoreFull', '2m', 'gatehouse_store_state{state="full",GATEWAY} 1x20'],
  [
    'GatehouseStoreNearlyFull',
    '10m',
    'gatehouse_store_used_bytes{GATEWAY} 81x60',
    'gatehouse_store_maximum_bytes{GATEWAY} 100x60',
  ],
  ['GatehouseDatabaseUnavailable', '2m', 'gatehouse_database_up{DEVICES} 0x20'],
  [
    'GatehouseDatabaseReadOnly',
    '2m',
    'gatehouse_database_up{DEVICES} 1x20',
    'gatehouse_database_writable{DEVICES} 0x20',
  ],
  [
    'GatehouseUpstreamStopped',
    '2m',
    'gatehouse_upstream_circuit_open{upstream="device-service",GATEWAY} 1x20',
  ],
  [
    'GatehouseRequestsFail',
    '10m',
    'gatehouse_requests_total{outcome="success",GATEWAY} 0+100x60',
    'gatehouse_requests_total{outcome="failed",GATEWAY} 0+5x60',
    // The circuit of another gateway does not explain the failures of this job.
    'gatehouse_upstream_circuit_open{upstream="partner",job="other"} 0x60',
  ],
  [
    'GatehouseCredentialReplayed',
    '2m',
    'gatehouse_replay_refusals_total{credential="code",SERVER} 0 0 1x20',
  ],
  [
    'GatehouseSecretsGuessed',
    '8m',
    'gatehouse_throttle_refusals_total{limit="sign_ins",SERVER} 0+2x40',
  ],
  [
    'GatehouseEventLoopBusy',
    '15m',
    'gatehouse_event_loop_seconds_total{state="active",GATEWAY} 0+28x80',
    'gatehouse_workers{GATEWAY} 2x80',
  ],
  [
    'GatehousePasswordHashingQueue',
    '5m',
    'gatehouse_password_hashing{state="waiting",SERVER} 3x40',
  ],
  [
    'GatehousePasswordHashingRefused',
    '2m',
    'gatehouse_password_hashing_refused_total{SERVER} 0 0 1x20',
  ],
  ['GatehouseConnectionsRefused', '2m', 'gatehouse_connections_refused_total{GATEWAY} 0 0 7x20'],
  [
    'GatehouseVersionsDiffer',
    '80m',
    'gatehouse_build_info{version="1.0.0",GATEWAY} 1x400',
    'gatehouse_build_info{version="1.1.0",DEVICES} 1x400',
  ],
  [
    'GatehouseCertificateExpires',
    '10m',
    'probe_ssl_earliest_cert_expiry{instance="https://auth.example"} 86400x60',
  ],
  [
    'GatehouseDiskNearlyFull',
    '20m',
    `node_filesystem_avail_bytes${disk} 5x90`,
    `node_filesystem_size_bytes${disk} 100x90`,
  ],
  [
    'GatehouseBackupOld',
    '10m',
    'node_textfile_mtime_seconds{instance="h:9100",file="/var/gatehouse-backup.prom"} -180000x60',
  ],
];

const alerts = readFileSync(join(monitoring, 'alerts.yml'), 'utf8');
const names = [...alerts.matchAll(/^ {6}- alert: (\w+)/gm)].map(([, name]) => name);
const directory = temporaryFolder();
writeFileSync(join(directory, 'alerts.yml'), alerts);

/** All apps answer Prometheus. */
const running = ['up{GATEWAY} 1x400', 'up{SERVER} 1x400', 'up{DEVICES} 1x400'];

/** The alerts that fire at a time. promtool prints them as differences from the expected none. */
function firing(at: string, series: readonly string[]): readonly string[] {
  // The last values of a series replace earlier ones.
  const given = new Map(
    [...running, ...series].map((line) => line.split(/ (.*)/) as [string, string]),
  );
  const input_series = [...given].map(([name, values]) => ({
    series: name.replace(/GATEWAY|SERVER|DEVICES/, (job) => jobs[job as keyof typeof jobs]),
    values,
  }));
  const alert_rule_test = names.map((alertname) => ({ eval_time: at, alertname, exp_alerts: [] }));
  const tests = [{ interval: '15s', input_series, alert_rule_test }];
  const unitTest = { rule_files: ['alerts.yml'], evaluation_interval: '15s', tests };
  const file = join(directory, 'unit.test.json');
  writeFileSync(file, JSON.stringify(unitTest));
  try {
    execFileSync('promtool', ['test', 'rules', file], { stdio: 'pipe' });
    return [];
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: Buffer; readonly stderr: Buffer };
    const found = `${stdout}${stderr}`.matchAll(/alertname:\s*"?(\w+)"?,?\s+time/g);
    return [...found].map(([, name = '']) => name);
  }
}

describe('deploy/monitoring', () => {
  test('has valid rules and a valid scrape configuration', () => {
    const check = (...words: string[]) => execFileSync('promtool', ['check', ...words]).toString();
    expect(check('rules', join(monitoring, 'alerts.yml'))).toContain('SUCCESS');
    expect(check('config', join(monitoring, 'prometheus.yml'))).toContain('SUCCESS');
  });

  test.each(signals)('only %s fires for its signal', (alert, at, ...series) => {
    expect(firing(at, series)).toEqual([alert]);
  });

  test('no alert fires without one of these signals', () => {
    expect(
      firing('20m', [
        'gatehouse_store_state{state="available",GATEWAY} 1x100',
        'gatehouse_requests_total{outcome="success",GATEWAY} 0+100x100',
        'gatehouse_requests_total{outcome="refused",GATEWAY} 0+50x100',
        // One failure in a few requests is no trend.
        'gatehouse_requests_total{outcome="success",DEVICES} 0+0.2x100',
        'gatehouse_requests_total{outcome="failed",DEVICES} 0x70 1x30',
        'gatehouse_event_loop_seconds_total{state="active",GATEWAY} 0+14x100',
        'gatehouse_workers{GATEWAY} 2x100',
      ]),
    ).toEqual([]);
  });
});
