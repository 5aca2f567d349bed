/** The manifests of deploy/kubernetes are valid, and follow the rules of a hardened installation. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { knownVariables } from '@gatehouse/server/configuration';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { podsOf, renderManifests } from './kubernetes-manifests.ts';
import { schemaProblems, unknownMembers } from './kubernetes-schemas.ts';
import { root } from './source-tree.ts';

const apps = ['authorization-server', 'gateway', 'device-service'];
const folder = join(root, 'deploy/kubernetes');

/** An overlay as an operator writes it. */
function overlayWithConsole(): string {
  const directory = temporaryFolder();
  const path = (name: string) => relative(directory, join(folder, name));
  const overlay = { resources: [path('small')], components: [path('console')] };
  writeFileSync(join(directory, 'kustomization.yaml'), JSON.stringify(overlay));
  return directory;
}

describe.each([
  ['small', join(folder, 'small'), apps],
  ['highly-available', join(folder, 'highly-available'), apps],
  ['small with the console', overlayWithConsole(), [...apps, 'console']],
])('deploy/kubernetes: %s', (_overlay, place, expectedApps) => {
  const manifests = renderManifests(place);
  const ofKind = (kind: string) => manifests.filter((each) => each.kind === kind);
  const names = (kind: string) => ofKind(kind).map(({ metadata }) => metadata.name);
  const pods = podsOf(manifests);
  const deployments = ofKind('Deployment');

  test('conforms to the schemas of Kubernetes, without unknown members', async () => {
    expect((await Promise.all(manifests.map(schemaProblems))).flat()).toEqual([]);
    expect(await unknownMembers(manifests)).toEqual([]);
  });

  test('runs each app, with a Service and a disruption budget that allows a drain', () => {
    for (const kind of ['Deployment', 'Service', 'PodDisruptionBudget']) {
      expect(names(kind).sort()).toEqual([...expectedApps].sort());
    }
    for (const { spec } of ofKind('PodDisruptionBudget')) {
      expect(spec).toMatchObject({ maxUnavailable: 1 });
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
        expect(volume).toMatchObject({
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
    '%s is probed, drained and found by its Service',
    (name, { spec }) => {
      const [container] = spec.template.spec.containers;
      expect(existsSync(join(root, container.args[0]))).toBe(true);
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
        const path = probe === 'readinessProbe' ? '/ready' : '/live';
        expect(container[probe].httpGet).toEqual({ path, port: 'operations' });
        // A check of /ready takes up to 2 s.
        expect(container[probe].timeoutSeconds).toBeGreaterThanOrEqual(3);
      }
      const pause = Number(container.lifecycle.preStop.exec.command[1]);
      // An app takes up to 10 s to finish its requests.
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(pause + 10);
      const service = ofKind('Service').find(({ metadata }) => metadata.name === name)?.spec;
      expect(spec.template.metadata.labels).toMatchObject(service.selector);
      for (const { port, targetPort } of service.ports) {
        expect(container.ports).toContainEqual({ name: targetPort, containerPort: port });
      }
    },
  );

  test('publishes no path for verifications', () => {
    const [ingress] = ofKind('Ingress');
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
  const directory = temporaryFolder();
  const file = join(directory, 'file.yml');
  writeFileSync(file, JSON.stringify(content));
  try {
    execFileSync('promtool', [command, verb, file], { stdio: 'pipe', encoding: 'utf8' });
  } catch (error) {
    throw new Error(String((error as { stdout?: string }).stdout ?? error), { cause: error });
  }
}
