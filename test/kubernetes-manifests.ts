import { execFileSync } from 'node:child_process';
import { parseAllDocuments } from 'yaml';

/** A Kubernetes object. Tests check the members that they use against the published schemas. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: every kind has another shape
  readonly spec: any;
}

/** The objects of a folder with a kustomization, as `kubectl apply -k` sends them. */
export function renderManifests(folder: string): readonly Manifest[] {
  const text = execFileSync('kubectl', ['kustomize', folder], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return parseAllDocuments(text).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      throw error;
    }
    return document.toJS() as Manifest;
  });
}

/** The Deployments, and the Jobs that the CronJobs create. Each has a template of a pod. */
export function podsOf(manifests: readonly Manifest[]): readonly Manifest[] {
  return manifests.flatMap((manifest) => {
    if (manifest.kind === 'CronJob') {
      return [
        { ...manifest, apiVersion: 'batch/v1', kind: 'Job', spec: manifest.spec.jobTemplate.spec },
      ];
    }
    return manifest.kind === 'Deployment' || manifest.kind === 'Job' ? [manifest] : [];
  });
}
