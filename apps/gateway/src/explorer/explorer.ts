/**
 * The API explorer at `/explorer`: a page on which developers send requests to the gateway. It is
 * off on public addresses unless the operator enables it.
 *
 * Not here: any credential. The page keeps them in its memory, and sends them to the gateway as any
 * client does. Nothing in this folder runs for another path.
 */
import { readFile } from 'node:fs/promises';
import { ApiError } from '@gatehouse/errors';
import { explorerClientId } from '@gatehouse/identity';
import { readSharedStyles } from '@gatehouse/server';
import { LRUCache } from 'lru-cache';
import { protectiveHeaders, type Reply } from '../messages.ts';
import type { PublicEntry } from '../routes/route.ts';
import { loadBrowserModules } from './browser-modules.ts';

const PATH = '/explorer';
const PATHS = [PATH, `${PATH}/`, `${PATH}/{file}`, `${PATH}/{folder}/{file}`];

export function createExplorer(authorizationServerUrl: string): readonly PublicEntry[] {
  const securityHeaders = pageHeaders(authorizationServerUrl);
  // Loaded at the first request, so that a start does not wait for it. A failure is not kept.
  const files = new LRUCache<string, Awaited<ReturnType<typeof loadFiles>>>({
    max: 1,
    fetchMethod: loadFiles,
  });

  async function answer(path: string): Promise<Reply> {
    if (path === `${PATH}/`) {
      const headers = ['Location', `..${PATH}`, ...securityHeaders];
      return { status: 308, headers, body: undefined };
    }
    const file = (await files.fetch('page'))?.get(path);
    if (file === undefined) {
      throw new ApiError('not_found');
    }
    const headers = ['Content-Type', `${file.type}; charset=utf-8`, ...securityHeaders];
    return { status: 200, headers, body: Buffer.from(file.text) };
  }

  return PATHS.map((path) => ({
    method: 'GET',
    path,
    operation: 'explorer',
    read: (_message, requested) => answer(requested),
  }));
}

/** The files of the page by path. */
async function loadFiles() {
  const readPage = (name: string) => readFile(new URL(`page/${name}`, import.meta.url), 'utf8');
  const modules = await loadBrowserModules();
  // Without these links, the browser would find the modules one after the other.
  const links = modules.map(([path]) => `<link rel="modulepreload" href="explorer/${path}">`);
  const page = (await readPage('index.html'))
    .replace('<!-- modules -->', links.join('\n'))
    .replace('{client}', explorerClientId);
  const stylesheet = `${readSharedStyles()}\n${await readPage('explorer.css')}`;
  return new Map([
    [PATH, { type: 'text/html', text: page }],
    [`${PATH}/explorer.css`, { type: 'text/css', text: stylesheet }],
    [`${PATH}/favicon.svg`, { type: 'image/svg+xml', text: await readPage('favicon.svg') }],
    ...modules.map(
      ([path, text]) => [`${PATH}/${path}`, { type: 'text/javascript', text }] as const,
    ),
  ]);
}

/**
 * The page can load only its own files, and send data only to the gateway and the token endpoint.
 * Trusted Types turn every use of a text as markup into an error, so no text can become a script.
 */
function pageHeaders(authorizationServerUrl: string): readonly string[] {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self' ${authorizationServerUrl}/token`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return [
    ...protectiveHeaders,
    ...['Content-Security-Policy', policy.join('; ')],
    ...['Referrer-Policy', 'no-referrer'],
    ...['Cross-Origin-Opener-Policy', 'same-origin'],
    ...['Cross-Origin-Resource-Policy', 'same-origin'],
    ...['X-Frame-Options', 'DENY'],
  ];
}
