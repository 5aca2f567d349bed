import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { basic, type Constellation, processEnvironment } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import { codeBlock, readDocument } from '../documents.ts';
import { runCommands } from '../operators-commands.ts';
import { root } from '../source-tree.ts';
import { alice, secureKey } from './sign-in-and-allow.ts';
import { startApplication } from './start-application.ts';

export type ExampleStack = Awaited<ReturnType<typeof startExampleStack>>;

export const demoDevice = { id: 'demo-device-1', name: 'Demo device' };

/**
 * Starts Gatehouse with the organization, client, user and device of `npm start`, for the tests of
 * a file.
 */
export async function startExampleStack() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-examples-'));
  const examples = join(folder, 'examples');
  cpSync(join(root, 'examples'), examples, {
    recursive: true,
    filter: (path) => !/(?:node_modules|secure-key\.txt)$/.test(path),
  });
  for (const path of globSync('*/package.json', { cwd: examples })) {
    linkDependencies(join(examples, path));
  }
  const MASTER_KEY_FILE = join(folder, 'master.key');
  writeFileSync(MASTER_KEY_FILE, randomBytes(32).toString('hex'), { mode: 0o600 });
  const demoFile = join(folder, 'demo.json');
  writeFileSync(demoFile, JSON.stringify({ clientId: 'demo', secureKey }, null, 2));
  const system = await startSystem({
    engine: 'sqlite',
    bootstrap: {
      organizations: [{ id: 'demo', name: 'Demo' }],
      users: [{ ...alice, emailVerified: true, orgId: 'demo' }],
      clients: [
        {
          ...{ clientId: 'demo', name: 'Demo application', orgId: 'demo', secureKey },
          grantTypes: ['client_credentials'],
          scopes: ['device:read', 'device:write', 'device:log', 'device:report'],
        },
      ],
    },
    // The other profile allows everything that this one allows.
    environment: { MASTER_KEY_FILE, SECURITY_PROFILE: 'strict' },
  });
  await createDemoDevice(system);
  afterAll(() => rmSync(folder, { recursive: true }));
  const addresses = {
    AUTHORIZATION_SERVER_URL: system.authorizationServerUrl,
    GATEWAY_URL: system.gatewayUrl,
  };

  function runBlock(guide: string, name: string, ports: Readonly<Record<string, number>> = {}) {
    let commands = codeBlock(readDocument('docs/guides.md'), `sh ${name}-${guide}`);
    for (const [port, replacement] of Object.entries(ports)) {
      commands = commands.replaceAll(`localhost:${port}`, `localhost:${replacement}`);
    }
    const inCopy = commands
      .replaceAll(/\bexamples\//g, `${examples}/`)
      .replaceAll('data/demo.json', demoFile);
    runCommands(inCopy, { STORE_URL: system.storeUrl, MASTER_KEY_FILE, DATA_DIR: folder });
  }

  return {
    system,
    /** A copy of the folder `examples/`. */
    folder: examples,
    /** Runs the commands of a guide that register its client, with other ports. */
    register: (guide: string, ports?: Readonly<Record<string, number>>) =>
      runBlock(guide, 'register', ports),
    /** Runs other commands of a guide, by the name of the block. */
    runBlock,
    /** Runs a program in the folder of an example to its end, and returns its output. */
    async run(
      example: string,
      [program, ...args]: readonly [program: string, ...args: string[]],
      environment: Readonly<Record<string, string>> = {},
    ) {
      const { stdout } = await promisify(execFile)(program, args, {
        cwd: join(examples, example),
        env: { ...processEnvironment, ...addresses, ...environment },
      });
      return stdout;
    },
    /** Starts an example with the command of its package.json. */
    start(
      example: string,
      environment: Readonly<Record<string, string>>,
      readyText: string,
      ...args: readonly string[]
    ) {
      const cwd = join(examples, example);
      const manifest = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'));
      const [, program = ''] = /^node (\S+)$/.exec(manifest.scripts.start) ?? [];
      const command = [process.execPath, program, ...args] as const;
      return startApplication(command, { ...addresses, ...environment }, readyText, cwd);
    },
  };
}

async function createDemoDevice({ authorizationServerUrl, gatewayUrl }: Constellation) {
  const reply = await fetch(`${authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic('demo', secureKey) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token } = (await reply.json()) as { readonly access_token: string };
  const created = await fetch(`${gatewayUrl}/device-instance`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...demoDevice, productId: 'demo', productName: 'Demo' }),
  });
  if (!created.ok) {
    throw new Error(await created.text());
  }
}

/** Links the packages that the suite installed, in exactly the versions that the example names. */
export function linkDependencies(manifest: string): void {
  const { dependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  for (const [name, version] of Object.entries<string>(dependencies)) {
    const link = join(dirname(manifest), 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(findInstalled(name, version), link);
  }
}

/** Two versions of one package have aliases, such as `openid-client-5`. */
function findInstalled(name: string, version: string): string {
  const candidates = globSync(`node_modules/${name}{,-*}/package.json`, {
    cwd: import.meta.dirname,
  }).map((path) => join(import.meta.dirname, path));
  const found = candidates.find((path) => {
    const manifest = JSON.parse(readFileSync(path, 'utf8'));
    return manifest.name === name && manifest.version === version;
  });
  if (found === undefined) {
    throw new Error(`test/clients/package.json does not install ${name} ${version}.`);
  }
  return dirname(found);
}
