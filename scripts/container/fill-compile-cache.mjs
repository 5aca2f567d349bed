// Loads what the apps load, while the image is built: with NODE_COMPILE_CACHE set, Node keeps what it compiled.
for (const app of ['authorization-server', 'gateway', 'device-service']) {
  await import(`../../apps/${app}/src/app.ts`);
  await import(`../../apps/${app}/src/config.ts`);
}
await import('../../apps/device-service/src/database/open-database.ts');
await import('../../apps/cli/src/cli.ts');
await import('@gatehouse/http-server');
