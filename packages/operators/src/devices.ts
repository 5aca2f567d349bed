/**
 * The devices of one organization, read from the device service. It has its own database and trusts
 * the internal token of the gateway alone. The token names the organization, so no query can reach
 * the devices of another one.
 */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { json } from 'node:stream/consumers';
import { deviceIdPattern, deviceRecord, stateLabels } from '@gatehouse/device-api';
import { CONSOLE_CLIENT_ID, type SigningKeyPolicy, signInternalToken } from '@gatehouse/identity';
import { z } from 'zod';
import {
  type Dependencies,
  type Operator,
  OperatorError,
  type Page,
  parseInput,
} from './operator.ts';

export interface DeviceServiceSettings {
  /** Without a trailing slash. */
  readonly url: string;
  /** The Unix socket on which it listens instead. */
  readonly socketPath?: string | undefined;
  /** The public URL of the gateway, which issues internal tokens. */
  readonly gatewayUrl: string;
}

/** The device service does not answer, or does not accept the token. */
export class DeviceServiceUnavailableError extends Error {
  override name = 'DeviceServiceUnavailableError';
}

const TIMEOUT_MILLISECONDS = 3000;
const PAGE_SIZE = 25;

const word = z
  .string()
  .max(200)
  .refine((text) => text.isWellFormed() && !text.includes('\0'));
const states = Object.keys(stateLabels) as (keyof typeof stateLabels)[];

export const deviceFilter = z.object({
  /** The id or the name begins with it, in the same case. */
  search: word.optional(),
  state: z.enum(states).optional(),
  productId: word.optional(),
  cursor: z.string().regex(deviceIdPattern).optional(),
});

/** A newer device service can reply with further members. */
const device = deviceRecord.strip();
const listedDevice = device.omit({ metadata: true, configuration: true, tags: true });
export type ListedDevice = z.output<typeof listedDevice>;

export function createDeviceActs(
  { identity, now }: Dependencies,
  settings: DeviceServiceSettings,
  policy: SigningKeyPolicy | undefined,
) {
  const keys = identity.keepSigningKeys('gateway', { actor: 'console' }, { now, policy });

  async function ask<Result>(
    { operator: subject = CONSOLE_CLIENT_ID }: Operator,
    orgId: string,
    question: { readonly path: string; readonly query?: object; readonly reply: z.ZodType<Result> },
  ): Promise<Result> {
    const token = await signInternalToken(
      {
        ...{ issuer: settings.gatewayUrl, audience: 'device-service', orgId },
        ...{ clientId: CONSOLE_CLIENT_ID, subject, scopes: new Set(['device:read'] as const) },
      },
      await keys.current(),
      now(),
    );
    const { status, content } = await send(settings, { ...question, token }).catch((cause) => {
      throw new DeviceServiceUnavailableError('The device service did not answer.', { cause });
    });
    const parsed = z.object({ result: question.reply }).safeParse(content);
    if (status === 404) {
      throw noDevice();
    }
    if (status !== 200 || !parsed.success) {
      const message = `The device service replied with ${status}.`;
      throw new DeviceServiceUnavailableError(message, { cause: parsed.error });
    }
    return parsed.data.result;
  }

  return {
    /** By id. @throws DeviceServiceUnavailableError */
    async list(
      operator: Operator,
      orgId: string,
      filter: z.input<typeof deviceFilter> = {},
    ): Promise<Page<ListedDevice>> {
      const { data } = await ask(operator, orgId, {
        path: '/api/v1/device/_query',
        query: toQuery(parseInput(deviceFilter, filter)),
        reply: z.object({ data: z.array(listedDevice) }),
      });
      const items = data.slice(0, PAGE_SIZE);
      return { items, next: data.length > PAGE_SIZE ? items.at(-1)?.id : undefined };
    },

    /** @throws OperatorError `not_found`, DeviceServiceUnavailableError */
    async read(operator: Operator, orgId: string, id: string) {
      if (!deviceIdPattern.test(id)) {
        throw noDevice();
      }
      return ask(operator, orgId, { path: `/api/v1/device/${id}/_detail`, reply: device });
    },
  };
}

const noDevice = () =>
  new OperatorError('not_found', 'The organization has no device with this id.');

/** One device more than a page has shows that another page follows. */
function toQuery({ search, state, productId, cursor }: z.output<typeof deviceFilter>) {
  const term = (column: string, value: string | undefined, termType = 'eq') =>
    value === undefined ? [] : [{ column, value, termType }];
  const start = search && `${search.replace(/[\\%_]/g, '\\$&')}%`;
  const found = [...term('id', start, 'like'), ...term('name', start, 'like')];
  return {
    // With a total, the service does not count.
    ...{ pageSize: PAGE_SIZE + 1, total: 0, sorts: [{ name: 'id' }] },
    terms: [
      ...term('id', cursor, 'gt'),
      ...term('state', state),
      ...term('productId', productId),
      ...(found.length === 0 ? [] : [{ terms: found.map((each) => ({ ...each, type: 'or' })) }]),
    ],
  };
}

async function send(
  { url, socketPath }: DeviceServiceSettings,
  {
    path,
    query,
    token,
  }: { readonly path: string; readonly query?: object; readonly token: string },
) {
  const { request } = url.startsWith('https:') ? https : http;
  const sent = request(url + path, {
    ...{ method: query === undefined ? 'GET' : 'POST', socketPath, agent: false },
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
  });
  // `once` reports the first error. One that follows must not end the process.
  sent.on('error', () => undefined);
  sent.end(query && JSON.stringify(query));
  const [reply]: IncomingMessage[] = await once(sent, 'response');
  return { status: reply?.statusCode, content: reply && (await json(reply)) };
}
