/**
 * A minimal third-party application. It receives the redirect of the browser sign-in, redeems the code and
 * lists the devices of the user through the gateway.
 *
 * It is a demonstration on loopback. A real application also needs PKCE, sessions, and a `state` per browser.
 */
import type { RequestListener } from 'node:http';
import { renderPage } from './page.ts';
import { redeemAndList, type SignInSettings } from './redeem-and-list.ts';

const MAXIMUM_FORM_BYTES = 4096;

export function createApp(settings: SignInSettings): RequestListener {
  return (request, response) => {
    void answer(request.method ?? '', request.url ?? '', () => readForm(request), settings).then(
      (page) => {
        response.writeHead(page.status, {
          'Content-Type': 'text/html; charset=utf-8',
          'Cache-Control': 'no-store',
          'Referrer-Policy': 'no-referrer',
          'Content-Security-Policy':
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
        });
        response.end(page.body);
      },
      () => response.writeHead(500).end('The demo application failed.'),
    );
  };
}

async function answer(
  method: string,
  target: string,
  form: () => Promise<URLSearchParams>,
  settings: SignInSettings,
): Promise<{ status: number; body: string }> {
  const url = new URL(target, settings.redirectUri);
  const isCallback = url.pathname === new URL(settings.redirectUri).pathname;
  if (method === 'GET' && isCallback) {
    const error = url.searchParams.get('error');
    return error === null
      ? page(200, { code: url.searchParams.get('code') ?? '' })
      : page(200, { failure: `${error}: ${url.searchParams.get('error_description') ?? ''}` });
  }
  if (method === 'POST' && isCallback) {
    const code = (await form()).get('code') ?? '';
    return page(200, { result: await redeemAndList(code, settings) });
  }
  return page(404, { failure: 'This page does not exist.' });
}

function page(status: number, content: Parameters<typeof renderPage>[0]) {
  return { status, body: renderPage(content) };
}

async function readForm(request: AsyncIterable<Buffer>): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of request) {
    text += chunk.toString('utf8');
    if (text.length > MAXIMUM_FORM_BYTES) {
      break;
    }
  }
  return new URLSearchParams(text);
}
