/** The manifests of deploy/kubernetes are valid, and follow the rules of a hardened installation. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressList, knownVariables } from '@gatehouse/server/configuration';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { type Manifest, podsOf, renderManifests } from './kubernetes-manifests.ts';
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

  test('can be applied again after a change, because it contains no Job', () => {
    // Kubernetes rejects a changed pod of a Job, and then `kubectl apply -k` fails.
    expect(names('Job')).toEqual([]);
    const [template] = ofKind('CronJob');
    expect(template?.metadata.name).toBe('bootstrap');
    expect(template?.spec.suspend).toBe(true);
  });

  test('names no trusted proxy, so that no server starts before an operator does', () => {
    const [settings] = ofKind('ConfigMap') as unknown as { data: Record<string, string> }[];
    expect(addressList.safeParse(settings?.data.TRUSTED_PROXIES).success).toBe(false);
  });

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
  const manifests = renderManifests(join(folder, 'highly-available'));
  const autoscalers = manifests.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
  const adapter = parse(
    readFileSync(join(folder, 'highly-available/prometheus-adapter.yaml'), 'utf8'),
  );

  test('scales each app from three pods, by processor time and event loop', () => {
    expect(autoscalers.map(({ spec }) => spec.scaleTargetRef.name).sort()).toEqual(
      [...apps].sort(),
    );
    for (const { spec } of autoscalers) {
      expect(spec.minReplicas).toBe(3);
      expect(spec.metrics.map(metricOf)).toEqual(['cpu', adapter.rules[0].name.as]);
    }
  });

  test('leaves the number of replicas to the autoscalers, and never puts two on one node', () => {
    for (const { spec } of manifests.filter(({ kind }) => kind === 'Deployment')) {
      expect(spec.replicas).toBeUndefined();
      const [byNode] = spec.template.spec.topologySpreadConstraints;
      expect(byNode.whenUnsatisfiable).toBe('DoNotSchedule');
      // The autoscalers compare with the request, and a process uses one core.
      expect(spec.template.spec.containers[0].resources.requests.cpu).toBe('1');
    }
  });

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

describe('overlays of operators', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-kustomize-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  beforeAll(() => {
    cpSync(folder, join(directory, 'deploy/kubernetes'), { recursive: true });
    mkdirSync(join(directory, 'gatehouse'));
  });

  /** Renders an overlay in a folder next to `deploy`. */
  function render(overlay: string): readonly Manifest[] {
    writeFileSync(join(directory, 'gatehouse/kustomization.yaml'), overlay);
    return renderManifests(join(directory, 'gatehouse'));
  }

  test('the example of the guide sets the image, the addresses and the names of the Ingress', () => {
    const guide = readFileSync(join(root, 'docs/operations/deploy.md'), 'utf8');
    const [, example = ''] = /```yaml\n([^`]+)```/.exec(guide) ?? [];
    const manifests = render(example.replace(/^ {3}/gm, ''));
    for (const { spec } of podsOf(manifests)) {
      expect(spec.template.spec.containers[0].image).toMatch(
        /^registry\.acme\.example\/gatehouse:/,
      );
    }
    const settings = manifests.find(({ kind }) => kind === 'ConfigMap');
    expect(settings).toMatchObject({
      data: {
        TRUSTED_PROXIES: '10.42.0.0/16',
        AUTHORIZATION_SERVER_URL: 'https://auth.acme.example',
        DEVICE_SERVICE_URL: 'http://device-service:8850',
      },
    });
    const ingress = manifests.find(({ kind }) => kind === 'Ingress');
    expect(ingress?.spec.rules.map(({ host }: { host: string }) => host)).toEqual(
      ingress?.spec.tls[0].hosts,
    );
    expect(ingress?.spec.tls[0].hosts).toContain('gateway.acme.example');
  });

  test('the guide changes the template into a pod for commands', () => {
    const guide = readFileSync(join(root, 'docs/operations/back-up-and-restore.md'), 'utf8');
    const [, patch = ''] = /kubectl patch --local[^']+'([^']+)'/.exec(guide) ?? [];
    const job = podsOf(renderManifests(join(folder, 'small'))).find(({ kind }) => kind === 'Job');
    const words = ['patch', '--local', '-f', '-', '--type=json', '-o', 'json', '-p', patch];
    const input = JSON.stringify(job);
    const [container] = JSON.parse(execFileSync('kubectl', words, { input, encoding: 'utf8' })).spec
      .template.spec.containers;
    expect(container.command).toEqual(['sleep', '1800']);
    expect(container.args).toBeUndefined();
  });

  test('the component postgresql-operator gives the device service its address', async () => {
    const manifests = render(
      JSON.stringify({
        kind: 'Kustomization',
        resources: ['../deploy/kubernetes/small'],
        components: ['../deploy/kubernetes/postgresql-operator'],
      }),
    );
    const cluster = manifests.find(({ kind }) => kind === 'Cluster');
    const service = manifests.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'device-service',
    );
    const { volumes, containers } = service?.spec.template.spec ?? {};
    expect(volumes[0].secret.secretName).toBe(`${cluster?.metadata.name}-app`);
    expect(containers[0].env).toContainEqual({
      name: 'DATABASE_URL_FILE',
      value: '/secrets/database/uri',
    });
    const known = manifests.filter(({ kind }) => kind !== 'Cluster');
    expect((await Promise.all(known.map(schemaProblems))).flat()).toEqual([]);
  });
});

test('a misspelled or invalid member of a manifest is found', async () => {
  const [deployment] = podsOf(renderManifests(join(folder, 'small')));
  const pod = { ...deployment?.spec.template.spec, enableServiceLink: false };
  const wrong = {
    ...deployment,
    spec: { ...deployment?.spec, template: { spec: pod } },
  } as Manifest;
  expect((await unknownMembers([wrong])).join('\n')).toContain('"enableServiceLink"');
  const text = { ...deployment, spec: { ...deployment?.spec, replicas: '2' } } as Manifest;
  expect((await schemaProblems(text)).join('\n')).toContain('replicas');
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

function metricOf(metric: {
  readonly resource?: { readonly name: string };
  readonly pods?: { readonly metric: { readonly name: string } };
}): string | undefined {
  return metric.resource?.name ?? metric.pods?.metric.name;
}

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
