import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfiguration as loadAuthorizationServer } from '../apps/authorization-server/src/config.ts';
import { openIdentityStore } from '../apps/cli/src/open-identity-store.ts';
import { readConfiguration as loadDeviceService } from '../apps/device-service/src/config.ts';
import { loadConfiguration as loadGateway } from '../apps/gateway/src/config.ts';
import { readSourceTree, root } from './source-tree.ts';

/**
 * The variables that the apps read. The test runs the apps with an environment that records them.
 */
export async function variablesOfApps(): Promise<ReadonlySet<string>> {
  const asked = new Set<string>();
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-configuration-'));
  const environment = new Proxy<Record<string, string>>(
    { DATA_DIR: directory },
    {
      get(target, name) {
        asked.add(String(name));
        return Reflect.get(target, name);
      },
    },
  );
  try {
    for (const load of [loadAuthorizationServer, loadGateway, loadDeviceService]) {
      load(environment);
    }
    // The commands open the store for which the servers created the key.
    await (await openIdentityStore(environment)).close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return asked;
}

/**
 * The variables that scripts read: by name from process.env, or through a reader with the name as
 * its argument.
 */
export function variablesOfScripts(): ReadonlySet<string> {
  const patterns = [
    /\bprocess\.env\.([A-Z][A-Z0-9_]*)/g,
    /\b(?:port|url)\(\s*'([A-Z][A-Z0-9_]*)'/g,
    /\{\s*([A-Z][A-Z0-9_]*)\s*:[^}]*\}\s*=\s*process\.env/g,
  ];
  const names = readSourceTree()
    .filter((file) => file.path.startsWith('scripts/') && !file.isTest)
    .flatMap(({ code }) => patterns.flatMap((pattern) => [...code.matchAll(pattern)]))
    .map(([, name = '']) => name);
  return new Set(names);
}

const variablesOfOthers: ReadonlySet<string> = new Set([
  'COMPOSE_PROJECT_NAME',
  'SUDO_USER',
  'USER',
]);

/** The variables of Gatehouse that the compose file reads from the shell or `.env`. */
export function variablesOfContainers(): ReadonlySet<string> {
  const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
  const names = [...text.matchAll(/\$\{([A-Z][A-Z0-9_]*)/g)].map(([, name = '']) => name);
  return new Set(names.filter((name) => !variablesOfOthers.has(name)));
}
