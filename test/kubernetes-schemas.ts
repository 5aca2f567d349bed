import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Manifest } from './kubernetes-manifests.ts';
import { root } from './source-tree.ts';

const run = promisify(execFile);

/** Validates an object with the OpenAPI schema of Kubernetes. @returns the problems */
export async function schemaProblems(manifest: Manifest): Promise<readonly string[]> {
  const { [manifest.kind]: model } = (await import(
    `kubernetes-models/${manifest.apiVersion}/${manifest.kind}`
  )) as Record<string, new (data: Manifest) => { validate(): void }>;
  if (model === undefined) {
    return [`${manifest.apiVersion} has no ${manifest.kind}`];
  }
  try {
    new model(manifest).validate();
    return [];
  } catch (error) {
    return [`${manifest.kind} ${manifest.metadata.name}: ${String(error)}`];
  }
}

/**
 * Finds members that a kind does not have. The schemas allow them, and Kubernetes would ignore
 * them, so the compiler checks the objects against the types of the schemas.
 */
export async function unknownMembers(manifests: readonly Manifest[]): Promise<readonly string[]> {
  const file = join(root, `test/.manifests-${process.pid}.ts`);
  const lines = manifests.map((manifest) => {
    const { apiVersion, kind } = manifest;
    const type = `import('kubernetes-models/${apiVersion}/${kind}').I${kind}`;
    return `(${JSON.stringify(manifest)}) satisfies ${type};`;
  });
  writeFileSync(file, `${lines.join('\n')}\n`);
  const options = ['--noEmit', '--ignoreConfig', '--strict', '--skipLibCheck'];
  const modules = ['--module', 'nodenext', '--target', 'esnext', '--types', 'node'];
  try {
    await run('node_modules/.bin/tsc', [...options, ...modules, file], { cwd: root });
    return [];
  } catch (error) {
    return String((error as { stdout?: string }).stdout ?? error)
      .split('\n')
      .filter(Boolean);
  } finally {
    rmSync(file, { force: true });
  }
}
