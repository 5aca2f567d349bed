import type { Server } from 'node:http';

const REPORT_INTERVAL_MILLISECONDS = 60_000;

/**
 * Logs once per minute how many connections were closed above the limit, so a flood does not fill
 * the log.
 */
export function countDroppedConnections(server: Server, report: (dropped: number) => void): void {
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    if (dropped > 0) {
      report(dropped);
      dropped = 0;
      timer = setTimeout(flush, REPORT_INTERVAL_MILLISECONDS).unref();
    }
  };
  server.on('drop', () => {
    dropped += 1;
    if (timer === undefined) {
      flush();
    }
  });
  server.once('close', () => clearTimeout(timer));
}
