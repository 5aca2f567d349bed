import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A module as the browser loads it. */
export interface BrowserModule {
  /** Below `/explorer/`. */
  readonly path: string;
  readonly text: string;
}

/**
 * Removes the types from the modules of the page. A worker does so, because it takes a tenth of a
 * second, in which the gateway would serve no request.
 */
export async function loadBrowserModules(): Promise<readonly BrowserModule[]> {
  const worker = new Worker(new URL('compile-modules-worker.ts', import.meta.url), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [modules] = await once(worker, 'message');
  await worker.terminate();
  return modules;
}
