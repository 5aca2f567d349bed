import { type BootedGateway, type BootOptions, bootGateway } from './booted-gateway.ts';
import { type Received, send } from './http-client.ts';

/** The address of the caller, as the proxy reports it. */
export const CALLER = '203.0.113.9';

export interface Asked {
  readonly method?: string;
  readonly uri?: string;
  /** Path and query of the question. */
  readonly path?: string;
  /** The method of the question itself. */
  readonly by?: string;
  /** Name of the headers: `Original` or `Forwarded`. */
  readonly pair?: 'Original' | 'Forwarded';
}

/** Of a gateway that trusts this machine as a proxy. */
export const forwardAuth = { forwardAuth: true, trustedProxies: ['127.0.0.1'] };

export function bootForwardAuth(options: BootOptions = {}): Promise<BootedGateway> {
  return bootGateway({ ...forwardAuth, ...options });
}

/** Asks as a proxy does. */
export function ask(
  { port }: Pick<BootedGateway, 'port'>,
  headers: Record<string, string>,
  asked: Asked = {},
): Promise<Received> {
  const { method = 'GET', uri = '/api/device', pair = 'Original' } = asked;
  return send(port, asked.path ?? '/_verify', {
    method: asked.by ?? 'GET',
    headers: {
      'X-Forwarded-For': CALLER,
      [`X-${pair}-Method`]: method,
      [`X-${pair}-URI`]: uri,
      ...headers,
    },
  });
}

export const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
