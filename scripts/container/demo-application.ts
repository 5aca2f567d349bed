/** `docker compose up -d demo-application`: receives the redirect of the demo sign-in. */

import { readDemoIfPresent } from '@gatehouse/identity';
import { runProcess, serve } from '@gatehouse/server';
import { createApp } from '../../examples/demo-application/app.ts';
import { proxied } from './demo-device.ts';

const issuer = process.env.AUTHORIZATION_SERVER_URL ?? '';

await runProcess('demo-application', async () => {
  const demo = readDemoIfPresent('/data');
  if (demo === undefined) {
    throw new Error('the demo does not exist. Create it first: docker compose run --rm demo');
  }
  return serve(createApp({ ...proxied, ...demo, issuer }), { host: '0.0.0.0', port: 9010 });
});
