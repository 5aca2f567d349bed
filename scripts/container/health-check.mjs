// The health check of a container. It runs every few seconds, so it is plain JavaScript.
//
// Docker restarts a container that exits, but not an unhealthy one. Requests would wait for a
// frozen app, so this check kills an app that sends no reply. An app that replies "not ready", or
// that does not listen, keeps running.
import { readFileSync } from 'node:fs';
import { get } from 'node:http';

/** Seven times the time limit of a check of /ready. Callers of a frozen app wait this long. */
const FROZEN_AFTER_MILLISECONDS = 5000;

const request = get(
  { port: process.env.OPERATIONS_PORT, path: '/ready', timeout: FROZEN_AFTER_MILLISECONDS },
  (response) => {
    process.exitCode = response.statusCode === 200 ? 0 : 1;
    response.pipe(process.stdout);
  },
);
request.on('timeout', () => {
  killApp();
  request.destroy(new Error('no reply, so the app was killed'));
});
request.on('error', (error) => {
  console.error(`not ready: ${error.message}`);
  process.exitCode = 1;
});

/**
 * The app is the only child of the init process, which exits with it. A frozen process ignores
 * every other signal.
 */
function killApp() {
  const [app] = readFileSync('/proc/1/task/1/children', 'utf8').split(' ').map(Number);
  if (app > 1) {
    process.kill(app, 'SIGKILL');
  }
}
