import type { IncomingMessage } from 'node:http';

const names = new WeakMap<IncomingMessage, readonly string[]>();

/**
 * Remembers the names of the parameters in a body that is converted, for an error that names a
 * similar one.
 */
export function rememberBodyNames(request: IncomingMessage, found: readonly string[]): void {
  names.set(request, found);
}

export const bodyNamesOf = (request: IncomingMessage) => names.get(request);
