import type { DeviceRecord, DeviceSummaryRecord } from '@gatehouse/device-api';
import { assertFitsDeviceApi } from './assert-fits-device-api.ts';
import type { BootedApp } from './booted-app.ts';

/** A valid body for the creation of a device. */
export const camera = { name: 'Camera', productId: 'cameras', productName: 'Cameras' };

export interface JsonReply<Result> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly code: string; readonly timestamp: number; readonly result: Result };
  /** The result in the body. */
  readonly result: Result;
}

/** The result of operation 6. */
export interface PageResult<Item = Readonly<Record<string, unknown>>> {
  readonly pageIndex: number;
  readonly pageSize: number;
  readonly total: number;
  readonly totalIsExact?: boolean;
  readonly data: readonly Item[];
}

interface CallOptions {
  readonly org?: string;
  readonly headers?: Record<string, string>;
}

const ALL_SCOPES = 'device:read device:write device:log device:report';
const TOKEN_LIFE_MILLISECONDS = 30_000;

/** Calls operations directly, for any organization, by default for its own. */
export function createDeviceClient(
  { url, gateway }: Pick<BootedApp, 'url' | 'gateway'>,
  own = 'org-1',
) {
  const tokens = new Map<string, { readonly token: Promise<string>; readonly madeAt: number }>();
  const tokenOf = (org: string): Promise<string> => {
    const known = tokens.get(org);
    if (known !== undefined && Date.now() - known.madeAt < TOKEN_LIFE_MILLISECONDS) {
      return known.token;
    }
    const token = gateway.token({ org, scope: ALL_SCOPES });
    tokens.set(org, { token, madeAt: Date.now() });
    return token;
  };

  /** Sends a string unchanged, and other bodies as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape that it expects
  const call = async <Result = any>(
    method: string,
    path: string,
    body?: unknown,
    { org = own, headers = {} }: CallOptions = {},
  ): Promise<JsonReply<Result>> => {
    const reply = await fetch(`${url}${path}`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...headers,
        authorization: `Bearer ${await tokenOf(org)}`,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const envelope = (await reply.json()) as JsonReply<Result>['body'];
    assertFitsDeviceApi({ method, target: path, status: reply.status, body: envelope }, body);
    const { status, headers: received } = reply;
    const { result } = envelope;
    return { status, headers: Object.fromEntries(received), body: envelope, result };
  };

  return {
    call,
    create: (body: object, org = own) =>
      call<DeviceRecord>('POST', '/device-instance', body, { org }),
    createAll: (body: unknown, org = own, query = '') =>
      call('POST', `/api/v1/device${query}`, body, { org }),
    detail: (id: string, org = own, language = 'en') =>
      call<DeviceRecord>('GET', `/api/v1/device/${id}/_detail`, undefined, {
        org,
        headers: { 'Accept-Language': language },
      }),
    list: (query: string, org = own) =>
      call<readonly DeviceSummaryRecord[]>('GET', `/api/device${query}`, undefined, { org }),
    query: (body: unknown, org = own) =>
      call<PageResult<DeviceSummaryRecord>>('POST', '/device/instance/_query', body, { org }),
    report: (id: string, body: unknown, org = own) =>
      call('POST', `/api/v1/device/${id}/log`, body, { org }),
    log: (id: string, query = '', org = own) =>
      call('GET', `/api/v1/device/${id}/log/_query${query}`, undefined, { org }),
  };
}

export type DeviceClient = ReturnType<typeof createDeviceClient>;
