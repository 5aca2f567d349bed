// Loads what the apps load, and uses none of it, while the image is built: with NODE_COMPILE_CACHE set, Node keeps
// what it compiled.
const loaded = [
  ...['authorization-server', 'gateway', 'device-service'].flatMap((app) => [
    `apps/${app}/src/app.ts`,
    `apps/${app}/src/config.ts`,
  ]),
  'apps/device-service/src/database/open-database.ts',
  'apps/cli/src/cli.ts',
  'packages/http-server/src/index.ts',
];
for (const path of loaded) {
  await import(`../../${path}`);
}
