import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const packageFolder = join(import.meta.dirname, '..');

/** The package as npm would publish it. */
export interface PackedPackage {
  readonly bytes: number;
  /** Installs the tarball into an empty project, without a network, and returns its folder. */
  install(): Promise<string>;
  remove(): Promise<void>;
}

export async function packPackage(): Promise<PackedPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-client-'));
  const { stdout } = await npm(packageFolder, 'pack', '--json', '--pack-destination', folder);
  const [, filename = ''] = /"filename": "([^"]+)"/.exec(stdout) ?? [];
  const tarball = join(folder, filename);
  let projects = 0;
  return {
    bytes: (await stat(tarball)).size,
    async install() {
      projects += 1;
      const project = join(folder, `project-${projects}`);
      await mkdir(project);
      await writeFile(join(project, 'package.json'), '{"private":true,"type":"module"}');
      await npm(project, 'install', '--offline', '--no-audit', '--no-fund', tarball);
      await cp(join(import.meta.dirname, 'programs'), project, { recursive: true });
      return project;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function npm(cwd: string, ...args: readonly string[]) {
  return run('npm', args, { cwd });
}
