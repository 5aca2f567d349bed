/** The manifests of deploy/kubernetes are valid, and follow the rules of a hardened installation. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { knownVariables } from '@gatehouse/server/configuration';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { podsOf, renderManifests } from './kubernetes-manifests.ts';
import { schemaProblems, unknownMembers } from './kubernetes-schemas.ts';
import { root } from './source-tree.ts';

const apps = ['authorization-server', 'gateway', 'device-service'];
const folder = join(root, 'deploy/kubernetes');

describe.each(['small', 'highly-available'])('deploy/kubernetes/%s', (overlay) => {
  const manifests = renderManifests(join(folder, overlay));
  const ofKind = (kind: string) => manifests.filter((each) => each.kind === kind);
  const names = (kind: string) => ofKind(kind).map(({ metadata }) => metadata.name);
  const pods = podsOf(manifests);
  const deployments = ofKind('Deployment');

  test('conforms to the schemas of Kubernetes, without unknown members', async () => {
    expect((await Promise.all(manifests.map(schemaProblems))).flat()).toEqual([]);
    expect(await unknownMembers(manifests)).toEqual([]);
  });

  test('runs each app, with a Service and a disruption budget', () => {
    for (const kind of ['Deployment', 'Service', 'PodDisruptionBudget']) {
      expect(names(kind).sort()).toEqual([...apps].sort());
    }
    for (const { spec } of ofKind('PodDisruptionBudget')) {
      // A budget that allows no eviction blocks the drain of a node.
      expect(spec).toMatchObject({ maxUnavailable: 1 });
      expect(spec.minAvailable).toBeUndefined();
    }
  });

  test.each(pods.map((pod) => [pod.metadata.name, pod] as const))(
    '%s cannot gain privileges or change its files',
    (_name, { spec: { template } }) => {
      expect(template.spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      });
      for (const share of ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace']) {
        expect(template.spec[share]).toBeUndefined();
      }
      for (const container of template.spec.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          privileged: false,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources.limits.memory).toBe(container.resources.requests.memory);
        expect(container.image).toMatch(/:(?!latest$)[\w.-]+$/);
      }
    },
  );

  test.each(pods.map((pod) => [pod.metadata.name, pod] as const))(
    '%s gets its secrets as files that only its group can read',
    (_name, { spec: { template } }) => {
      const [container] = template.spec.containers;
      const { volumes, securityContext } = template.spec;
      expect(securityContext.fsGroup).toBe(1000);
      for (const volume of volumes) {
        expect(volume).toEqual({
          name: volume.name,
          secret: { secretName: expect.stringMatching(/^gatehouse-/), defaultMode: 0o440 },
        });
      }
      for (const mount of container.volumeMounts) {
        expect(mount).toMatchObject({ readOnly: true });
      }
      const inMount = (path: string) =>
        container.volumeMounts.some((mount: { mountPath: string }) =>
          path.startsWith(`${mount.mountPath}/`),
        );
      for (const { name, value, valueFrom } of container.env) {
        expect(knownVariables).toContain(name);
        expect(valueFrom).toBeUndefined();
        expect(!name.endsWith('_FILE') || inMount(value)).toBe(true);
      }
    },
  );

  test('contains no secret, and only variables that the apps know', () => {
    expect(names('Secret')).toEqual([]);
    const [settings] = ofKind('ConfigMap') as unknown as { data: Record<string, string> }[];
    const variables = Object.keys(settings?.data ?? {});
    expect(variables.length).toBeGreaterThan(3);
    expect(variables.filter((name) => !knownVariables.includes(name))).toEqual([]);
    expect(JSON.stringify(settings)).not.toMatch(/redis:\/\/|postgres/);
  });

  test.each(deployments.map((each) => [each.metadata.name, each] as const))(
    '%s is probed, drained and spread',
    (name, { spec }) => {
      const { spec: pod } = spec.template;
      const [container] = pod.containers;
      expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
      expect(container.args).toEqual([`apps/${name}/src/main.ts`]);
      expect(existsSync(join(root, container.args[0]))).toBe(true);
      for (const [probe, path] of [
        ['startupProbe', '/live'],
        ['livenessProbe', '/live'],
        ['readinessProbe', '/ready'],
      ] as const) {
        expect(container[probe].httpGet).toEqual({ path, port: 'operations' });
        // A check of /ready takes up to 2 s.
        expect(container[probe].timeoutSeconds).toBeGreaterThanOrEqual(3);
      }
      const pause = Number(container.lifecycle.preStop.exec.command[1]);
      expect(pause).toBeGreaterThan(0);
      // An app takes up to 10 s to finish its requests.
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(pause + 10);
      expect(
        pod.topologySpreadConstraints.map(
          ({ topologyKey }: { topologyKey: string }) => topologyKey,
        ),
      ).toEqual(['kubernetes.io/hostname', 'topology.kubernetes.io/zone']);
      for (const { labelSelector } of pod.topologySpreadConstraints) {
        expect(spec.template.metadata.labels).toMatchObject(labelSelector.matchLabels);
      }
    },
  );

  test('connects Services, ports, probes and the Ingress', () => {
    for (const { metadata, spec } of ofKind('Service')) {
      const { template } =
        deployments.find((each) => each.metadata.name === metadata.name)?.spec ?? {};
      expect(template.metadata.labels).toMatchObject(spec.selector);
      const [container] = template.spec.containers;
      for (const { port, targetPort } of spec.ports) {
        expect(container.ports).toContainEqual({ name: targetPort, containerPort: port });
      }
    }
    const [ingress] = ofKind('Ingress');
    const hosts = ingress?.spec.rules.map(({ host }: { host: string }) => host);
    expect(ingress?.spec.tls).toEqual([{ hosts, secretName: 'gatehouse-tls' }]);
    const published = ingress?.spec.rules.flatMap(
      (rule: { http: { paths: { backend: { service: { name: string } } }[] } }) =>
        rule.http.paths.map(({ backend }) => backend.service),
    );
    expect(published).toEqual([
      { name: 'authorization-server', port: { name: 'http' } },
      { name: 'authorization-server', port: { name: 'http' } },
      { name: 'gateway', port: { name: 'http' } },
    ]);
    // The authorization server answers this path with 404.
    expect(ingress?.spec.rules[1].http.paths[0]).toMatchObject({
      path: '/_verify',
      pathType: 'Prefix',
      backend: { service: { name: 'authorization-server' } },
    });
  });

  test('allows only the connections that the apps need', () => {
    const policies = ofKind('NetworkPolicy');
    const named = (name: string) => policies.find(({ metadata }) => metadata.name === name)?.spec;
    expect(named('deny-all')).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    const callers = (name: string, port: number) =>
      named(name)
        .ingress.filter(({ ports }: { ports: { port: number }[] }) =>
          ports.some((each) => each.port === port),
        )
        .flatMap(({ from }: { from: unknown[] }) => from);
    const app = (name: string) => ({
      podSelector: { matchLabels: { 'app.kubernetes.io/name': name } },
    });
    const ingress = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } },
    };
    expect(callers('authorization-server', 9000)).toEqual([ingress]);
    expect(callers('gateway', 8844)).toEqual([ingress]);
    expect(callers('device-service', 8850)).toEqual([app('gateway')]);
    expect(callers('gateway', 8944)).toEqual([app('device-service')]);
    for (const { spec } of policies) {
      for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
        expect(rule.ports.length).toBeGreaterThan(0);
      }
      for (const rule of spec.ingress ?? []) {
        expect(rule.from.length).toBeGreaterThan(0);
      }
    }
  });
});

describe('the overlay highly-available', () => {
  const adapter = parse(
    readFileSync(join(folder, 'highly-available/prometheus-adapter.yaml'), 'utf8'),
  );

  test('measures the event loop as a part of the time, per worker', () => {
    const series = [
      ['gatehouse_event_loop_seconds_total{state="active",namespace="g",pod="p"}', '0+24x10'],
      ['gatehouse_event_loop_seconds_total{state="idle",namespace="g",pod="p"}', '0+96x10'],
      ['gatehouse_workers{namespace="g",pod="p"}', '4x10'],
    ].map(([name, values]) => ({ series: name, values }));
    const expr = String(adapter.rules[0].metricsQuery)
      .replaceAll('<<.GroupBy>>', 'pod')
      .replaceAll('<<.LabelMatchers>>', 'namespace="g",pod=~"p"');
    const expected = [{ labels: '{pod="p"}', value: 0.2 }];
    const promql_expr_test = [{ expr, eval_time: '5m', exp_samples: expected }];
    const tests = [{ interval: '30s', input_series: series, promql_expr_test }];
    promtool('test', 'rules', { evaluation_interval: '30s', tests });
  });
});

test('deploy/kubernetes/prometheus.yml is valid, with the job names of the alert rules', () => {
  const text = readFileSync(join(folder, 'prometheus.yml'), 'utf8');
  const { scrape_configs: configs, ...rest } = parse(text);
  // Debian builds Prometheus without the discovery of Kubernetes, so promtool checks all but that.
  const [{ kubernetes_sd_configs: discovery, ...config }] = configs;
  expect(discovery).toEqual([{ role: 'pod', namespaces: { names: ['gatehouse'] } }]);
  const rules = rest.rule_files.map((file: string) => join(folder, file));
  promtool('check', 'config', { ...rest, rule_files: rules, scrape_configs: [config] });
  const alerts = readFileSync(join(root, 'deploy/monitoring/alerts.yml'), 'utf8');
  for (const app of apps) {
    expect(alerts).toContain(`job="gatehouse-${app}"`);
  }
});

/** YAML accepts JSON. */
function promtool(command: string, verb: string, content: unknown): void {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-promtool-'));
  const file = join(directory, 'file.yml');
  writeFileSync(file, JSON.stringify(content));
  try {
    execFileSync('promtool', [command, verb, file], { stdio: 'pipe', encoding: 'utf8' });
  } catch (error) {
    throw new Error(String((error as { stdout?: string }).stdout ?? error), { cause: error });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
