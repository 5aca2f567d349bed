// The health check of a container: is the app in it ready? Plain JavaScript: it runs every few seconds.
import { get } from 'node:http';

const request = get(
  { port: process.env.OPERATIONS_PORT, path: '/ready', timeout: 2500 },
  (response) => {
    process.exitCode = response.statusCode === 200 ? 0 : 1;
    response.pipe(process.stdout);
  },
);
request.on('timeout', () => request.destroy(new Error('no answer in time')));
request.on('error', (error) => {
  console.error(`not ready: ${error.message}`);
  process.exitCode = 1;
});
