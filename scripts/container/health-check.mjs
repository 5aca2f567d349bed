// The health check of a container: is the app in it ready? Plain JavaScript: it runs every few seconds.
//
// Docker restarts a container that ends, and leaves one alone that is unhealthy. So this ends an app that sends no reply
// at all, as a frozen process does: nginx and its callers would wait for it. An app that replies "not ready", or that
// does not listen yet or no longer, goes on.
import { readFileSync } from 'node:fs';
import { get } from 'node:http';

/** Five times the 2000 ms after which /ready gives up on a check. */
const FROZEN_AFTER_MILLISECONDS = 10_000;

const request = get(
  { port: process.env.OPERATIONS_PORT, path: '/ready', timeout: FROZEN_AFTER_MILLISECONDS },
  (response) => {
    process.exitCode = response.statusCode === 200 ? 0 : 1;
    response.pipe(process.stdout);
  },
);
request.on('timeout', () => {
  endApp();
  request.destroy(new Error('no reply, so the app was ended'));
});
request.on('error', (error) => {
  console.error(`not ready: ${error.message}`);
  process.exitCode = 1;
});

/** The only child of the container's init, which ends with it. A stopped process ignores every signal but this one. */
function endApp() {
  const [app] = readFileSync('/proc/1/task/1/children', 'utf8').split(' ').map(Number);
  if (app > 1) {
    process.kill(app, 'SIGKILL');
  }
}
