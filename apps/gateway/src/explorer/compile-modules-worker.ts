/**
 * Turns the page and all modules that it imports into JavaScript. The signing code comes from
 * `packages/signing`, so the page signs exactly as the gateway verifies.
 */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { posix } from 'node:path';
import { parentPort } from 'node:worker_threads';
import type { BrowserModule } from './browser-modules.ts';

/** Folder on the server → folder below `/explorer/`. */
const folders: readonly (readonly [source: string, target: string])[] = [
  [new URL('page/', import.meta.url).href, 'page/'],
  [new URL('./', import.meta.resolve('@gatehouse/signing/core')).href, 'signing/'],
];

parentPort?.postMessage(compileModules(new URL('page/main.ts', import.meta.url).href));

function compileModules(entry: string): readonly BrowserModule[] {
  const reached = new Set([entry]);
  const modules: BrowserModule[] = [];
  for (const source of reached) {
    const path = pathOf(source);
    const text = stripTypeScriptTypes(readFileSync(new URL(source), 'utf8')).replaceAll(
      /^((?:import|export) [^'=]* from ')([^']+)'/gm,
      (_whole, keyword: string, specifier: string) => {
        const target = import.meta.resolve(
          specifier.startsWith('.') ? new URL(specifier, source).href : specifier,
        );
        reached.add(target);
        return `${keyword}./${posix.relative(posix.dirname(path), pathOf(target))}'`;
      },
    );
    modules.push({ path, text });
  }
  return modules;
}

/** @throws Error for a module that the page must not use */
function pathOf(source: string): string {
  const folder = folders.find(([prefix]) => source.startsWith(prefix));
  if (folder === undefined) {
    throw new Error(`The explorer cannot load ${source} in a browser.`);
  }
  return folder[1] + source.slice(folder[0].length).replace(/\.ts$/, '.js');
}
