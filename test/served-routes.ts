import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { createApp } from '../apps/authorization-server/src/app.ts';
import { deviceRoutes } from '../apps/gateway/src/routes/device-routes.ts';
import { root } from './source-tree.ts';

/** A mounted route. If it accepts any method, its handler decides. */
export interface ServedRoute {
  readonly methods: readonly string[] | 'any';
  /** `/path/{parameter}` */
  readonly path: string;
}

/** @param named `GET /path`. `*` instead of the method means any method */
export function isServed(named: string, routes: readonly ServedRoute[]): boolean {
  const [method = '', path] = named.split(' ');
  return routes.some(
    (route) =>
      route.path === path &&
      (method === '*' || route.methods === 'any' || route.methods.includes(method)),
  );
}

export async function readServedRoutes(): Promise<readonly ServedRoute[]> {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const operations = read('packages/server/src/operations/operations-server.ts');
  const ofGateway = read('apps/gateway/src/main.ts');
  const ofDeviceService = read('apps/device-service/src/app.ts');
  const ofDemo = read('packages/identity/src/bootstrap/demo.ts');
  return [
    ...(await authorizationServerRoutes()),
    { methods: 'any', path: '/_verify' },
    { methods: ['GET'], path: '/explorer' },
    { methods: ['GET'], path: '/openapi.json' },
    { methods: ['GET'], path: '/.well-known/oauth-protected-resource' },
    { methods: ['GET'], path: '/time' },
    ...deviceRoutes.map(({ method, path }) => ({ methods: [method], path })),
    ...[
      ...operations.matchAll(/case '([^']+)'/g),
      ...ofGateway.matchAll(/'(\/[^']+)': gateway/g),
      ...ofDeviceService.matchAll(/'(\/[^']+)': database/g),
    ].map(([, path = '']) => ({ methods: ['GET'], path })),
    // The demo application serves the path that the demo client is registered with.
    ...[...ofDemo.matchAll(/'http:\/\/localhost:\d+(\/[^']+)'/g)].map(([, path = '']) => ({
      methods: ['GET', 'POST'],
      path,
    })),
  ];
}

/** The parts of Express's route list that this file uses: a route, or a mounted router. */
interface Layer {
  readonly route?: {
    readonly path: string;
    readonly stack: readonly { readonly method?: string }[];
  };
  readonly name: string;
  readonly handle: { readonly stack?: readonly Layer[] };
}

async function authorizationServerRoutes(): Promise<readonly ServedRoute[]> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-routes-'));
  const store = createStore(`sqlite:${join(directory, 'store.sqlite')}`);
  try {
    const masterKey = randomBytes(32);
    const app = await createApp({
      identity: openIdentity({ store, masterKey }),
      masterKey,
      issuer: 'http://localhost:9000',
      cookieKeys: [randomBytes(32).toString('hex')],
      securityProfile: 'compatible',
    });
    // Express does not record the path of a mounted router. app.ts lists the routers in the same
    // order.
    const source = readFileSync(join(root, 'apps/authorization-server/src/app.ts'), 'utf8');
    const mounts = [...source.matchAll(/app\.use\(\s*'([^']+)'/g)].map(([, path = '']) => path);
    const { stack } = (app as unknown as { readonly router: { readonly stack: readonly Layer[] } })
      .router;
    return stack.flatMap((layer) => {
      const inner = layer.name === 'router' ? layer.handle.stack : undefined;
      const mountedAt = inner === undefined ? '' : (mounts.shift() ?? '');
      return (inner ?? [layer]).flatMap((each) => toRoute(each, mountedAt));
    });
  } finally {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function toRoute({ route }: Layer, mountedAt: string): readonly ServedRoute[] {
  if (route === undefined) {
    return [];
  }
  const methods = new Set(route.stack.flatMap(({ method }) => method?.toUpperCase() ?? []));
  return [
    {
      // `app.all` mounts every method that Node knows.
      methods: methods.has('TRACE') ? 'any' : [...methods],
      // The root of a mounted router is its mount path.
      path: (mountedAt + route.path).replace(/:([A-Za-z]+)/g, '{$1}').replace(/(.)\/$/, '$1'),
    },
  ];
}
