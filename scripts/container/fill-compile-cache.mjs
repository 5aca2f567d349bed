// Loads the modules of the apps while the image is built. With NODE_COMPILE_CACHE, Node stores the
// compiled code.
const loaded = [
  ...['authorization-server', 'gateway', 'device-service', 'console'].flatMap((app) => [
    `apps/${app}/src/app.ts`,
    `apps/${app}/src/config.ts`,
  ]),
  'apps/device-service/src/database/open-database.ts',
  'apps/cli/src/cli.ts',
  'packages/server/src/index.ts',
  'packages/server/src/telemetry/open-telemetry-tracer.ts',
  'packages/store/src/redis/redis-store.ts',
];
for (const path of loaded) {
  await import(`../../${path}`);
}
