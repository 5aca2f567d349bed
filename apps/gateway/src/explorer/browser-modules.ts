import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { parentPort, Worker } from 'node:worker_threads';

/** The modules of the page and the signer that the client library uses, by folder of the address. */
const folders = {
  page: new URL('page/', import.meta.url),
  signing: new URL('./', import.meta.resolve('@gatehouse/signing/core')),
};

type BrowserModule = readonly [path: string, text: string];

/**
 * Removes the types from the modules that the page loads: path below `/explorer/` → JavaScript. A
 * worker does so, because it takes a tenth of a second, in which the gateway would serve no request.
 */
export async function loadBrowserModules(): Promise<readonly BrowserModule[]> {
  const worker = new Worker(new URL(import.meta.url), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [modules] = await once(worker, 'message');
  return modules;
}

// Only in the worker, which ends after that.
parentPort?.postMessage(
  Object.entries(folders).flatMap(([folder, source]) =>
    readdirSync(source)
      .filter((name) => /^(?!index)[\w-]+\.ts$/.test(name))
      .map((name): BrowserModule => {
        const text = stripTypeScriptTypes(readFileSync(new URL(name, source), 'utf8'));
        return [`${folder}/${name}`, text.replace('@gatehouse/signing/core', '../signing/core.ts')];
      }),
  ),
);
