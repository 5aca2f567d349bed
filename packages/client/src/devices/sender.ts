import type { GatehouseFetch } from '../call.ts';
import { readResult } from '../envelope.ts';

/** Sends a JSON body and resolves to the result, whose type the device API defines. */
export type Send = <Result>(method: string, path: string, body?: unknown) => Promise<Result>;

export function createSender(fetch: GatehouseFetch): Send {
  return async <Result>(method: string, path: string, body?: unknown) => {
    const content =
      body === undefined
        ? {}
        : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    return readResult<Result>(await fetch(path, { method, ...content }));
  };
}
