/**
 * The API explorer at `/explorer`: a page on which developers send requests to the gateway. It is
 * off on public addresses unless the operator enables it.
 *
 * Not here: any credential. The page keeps them in its memory, and sends them to the gateway as any
 * client does. Nothing in this folder runs for another path.
 */
import { readFile } from 'node:fs/promises';
import { ApiError, errorCatalogue, failureReasons, isFailureReason } from '@gatehouse/errors';
import { type ClientRegistry, explorerClientId } from '@gatehouse/identity';
import { readSharedStyles } from '@gatehouse/server';
import { protectiveHeaders, type Reply } from '../messages.ts';
import type { PublicEntry } from '../routes/route.ts';
import { loadBrowserModules } from './browser-modules.ts';

const PATH = '/explorer';
/** The files of the page are at most two folders deep. */
const PATHS = ['', '/', '/{file}', '/{folder}/{file}', '/{folder}/{inner}/{file}'].map(
  (path) => `${PATH}${path}`,
);

interface File {
  readonly type: string;
  readonly body: Reply['body'];
}

interface ExplorerSettings {
  /** The public URL of the gateway. */
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly clients: ClientRegistry;
  readonly openApi: PublicEntry;
}

export function createExplorer(settings: ExplorerSettings): readonly PublicEntry[] {
  const securityHeaders = pageHeaders(settings.authorizationServerUrl);
  let loading: Promise<ReadonlyMap<string, File>> | undefined;

  /** Loaded at the first request, so that a start does not wait for it. A failure is not kept. */
  function files(): Promise<ReadonlyMap<string, File>> {
    loading ??= loadFiles().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  }

  async function read(path: string): Promise<File> {
    if (path === `${PATH}/settings.json`) {
      const text = JSON.stringify(await readPageSettings(settings));
      return { type: 'application/json', body: Buffer.from(text) };
    }
    if (path === `${PATH}/openapi.json`) {
      // A route of a ROUTES_FILE may replace /openapi.json, but not this document.
      const { body } = await settings.openApi.read({ headers: {} }, '');
      return { type: 'application/json', body };
    }
    const file = (await files()).get(path);
    if (file === undefined) {
      throw new ApiError('not_found');
    }
    return file;
  }

  async function answer(path: string): Promise<Reply> {
    if (path === `${PATH}/`) {
      return {
        status: 308,
        headers: ['Location', `..${PATH}`, ...securityHeaders],
        body: undefined,
      };
    }
    const { type, body } = await read(path);
    return { status: 200, headers: ['Content-Type', type, ...securityHeaders], body };
  }

  return PATHS.map((path) => ({
    method: 'GET',
    path,
    operation: 'explorer',
    read: (_message, requested) => answer(requested),
  }));
}

/** Error code → how to fix the request. */
const advice = Object.fromEntries(
  Object.keys(errorCatalogue).flatMap((code) =>
    isFailureReason(code) ? [[code, failureReasons[code].fix]] : [],
  ),
);

/** The document `/explorer/settings.json`. It contains nothing secret. */
async function readPageSettings(settings: ExplorerSettings) {
  const { publicUrl, authorizationServerUrl, clients } = settings;
  const redirectUri = `${publicUrl}/explorer`;
  const client = await clients.find(explorerClientId);
  return {
    gatewayUrl: publicUrl,
    authorizationServerUrl,
    redirectUri,
    clientId: explorerClientId,
    isRegistered: client?.enabled === true && client.redirectUris.includes(redirectUri),
    advice,
  };
}

async function loadFiles(): Promise<ReadonlyMap<string, File>> {
  const readPage = (name: string) => readFile(new URL(`page/${name}`, import.meta.url), 'utf8');
  const modules = await loadBrowserModules();
  const stylesheet = `${readSharedStyles()}\n${await readPage('explorer.css')}`;
  // Without these links, the browser would find the modules one after the other.
  const links = modules.map(([path]) => `<link rel="modulepreload" href="explorer/${path}">`);
  const page = (await readPage('index.html')).replace('<!-- modules -->', links.join('\n'));
  return new Map([
    [PATH, textFile('text/html', page)],
    [`${PATH}/explorer.css`, textFile('text/css', stylesheet)],
    [`${PATH}/favicon.svg`, textFile('image/svg+xml', await readPage('favicon.svg'))],
    ...modules.map(
      ([path, text]) => [`${PATH}/${path}`, textFile('text/javascript', text)] as const,
    ),
  ]);
}

function textFile(type: string, text: string): File {
  return { type: `${type}; charset=utf-8`, body: Buffer.from(text) };
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
    'Content-Security-Policy',
    policy.join('; '),
    'Referrer-Policy',
    'no-referrer',
    'Cross-Origin-Opener-Policy',
    'same-origin',
    'Cross-Origin-Resource-Policy',
    'same-origin',
    'X-Frame-Options',
    'DENY',
  ];
}
