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
import { ApiError } from '@gatehouse/errors';
import { CONSOLE_CLIENT_ID, type SigningKeyPolicy, signInternalToken } from '@gatehouse/identity';
import { z } from 'zod';
import { type Dependencies, type Operator, OperatorError, parseInput } from './operator.ts';

export interface DeviceServiceSettings {
  /** Without a trailing slash. */
  readonly url: string;
  /** The Unix socket on which it listens instead. */
  readonly socketPath: string | undefined;
  /** The public URL of the gateway, which issues internal tokens. */
  readonly gatewayUrl: string;
}

const TIMEOUT_MILLISECONDS = 3000;
const PAGE_SIZE = 25;

const line = z
  .string()
  .max(500)
  .regex(/^\P{Cc}*$/u)
  .optional();

export const deviceFilter = z.object({
  /** The id or the name begins with it, in the same case. */
  search: line,
  state: z.enum(Object.keys(stateLabels) as (keyof typeof stateLabels)[]).optional(),
  productId: line,
  cursor: line,
});

/** A newer device service can reply with further members. */
const device = deviceRecord.strip();
export type DeviceView = Readonly<z.output<typeof device>>;
const listed = device.omit({ metadata: true, configuration: true, tags: true });

export function createDeviceActs(
  { identity, now }: Dependencies,
  settings: DeviceServiceSettings,
  policy: SigningKeyPolicy | undefined,
) {
  const keys = identity.keepSigningKeys('gateway', { actor: 'console' }, { now, policy });

  /**
   * @throws OperatorError `not_found`; ApiError `service_unavailable` with the reason
   * `upstream_unreachable` if the service does not answer, or rejects the token
   */
  async function ask<Reply>(
    { operator: subject = CONSOLE_CLIENT_ID }: Operator,
    orgId: string,
    { reply, ...question }: { path: string; query?: object; reply: z.ZodType<Reply> },
  ): Promise<Reply> {
    const scopes = new Set(['device:read']);
    const caller = { clientId: CONSOLE_CLIENT_ID, subject, orgId, scopes };
    const recipient = { issuer: settings.gatewayUrl, audience: 'device-service' };
    const key = await keys.current();
    const token = await signInternalToken({ ...caller, ...recipient }, key, now());
    try {
      const { status, content } = await send(settings, { ...question, token });
      if (status === 404) {
        throw noDevice();
      }
      if (status !== 200) {
        throw new Error(`The device service replied with ${status}.`);
      }
      return z.object({ result: reply }).parse(content).result;
    } catch (cause) {
      const isMissing = cause instanceof OperatorError;
      const reason = 'upstream_unreachable';
      throw isMissing ? cause : new ApiError('service_unavailable', { cause, reason });
    }
  }

  return {
    /** By id. */
    async list(operator: Operator, orgId: string, filter: z.input<typeof deviceFilter> = {}) {
      const query = toQuery(parseInput(deviceFilter, filter));
      const reply = z.object({ data: z.array(listed) });
      const path = '/api/v1/device/_query';
      const { data } = await ask(operator, orgId, { path, query, reply });
      const items = data.slice(0, PAGE_SIZE);
      return { items, next: data.length > PAGE_SIZE ? items.at(-1)?.id : undefined };
    },

    /** @throws OperatorError `not_found` */
    async read(operator: Operator, orgId: string, id: string): Promise<DeviceView> {
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
    value === undefined ? [] : [{ column, value, termType, type: 'and' }];
  const start = search && `${search.replace(/[\\%_]/g, '\\$&')}%`;
  const [ofId] = term('id', start, 'like');
  const found = ofId && { ...ofId, terms: [{ ...ofId, column: 'name', type: 'or' }] };
  const others = [term('id', cursor, 'gt'), term('state', state), term('productId', productId)];
  // With a total, the service does not count.
  const page = { pageSize: PAGE_SIZE + 1, total: 0, sorts: [{ name: 'id' }] };
  return { ...page, terms: [...others.flat(), ...(found ? [found] : [])] };
}

async function send(
  { url, socketPath }: DeviceServiceSettings,
  { path, query, token }: { path: string; query?: object; token: string },
) {
  const sent = (url.startsWith('https:') ? https : http).request(url + path, {
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
