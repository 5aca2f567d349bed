import type { describeDevice, describeSummary } from '../src/devices/describe-device.ts';
import type { BootedApp } from './booted-app.ts';

/** A creation body that is good once it has an id. */
export const camera = { name: 'Camera', productId: 'cameras', productName: 'Cameras' };

type DeviceDetail = ReturnType<typeof describeDevice>;
type DeviceItem = ReturnType<typeof describeSummary>;

interface JsonReply<Result> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly code: string; readonly timestamp: number; readonly result: Result };
}

/** The operations as a caller of any organisation, without the gateway in between. */
export function createDeviceClient({ url, gateway }: Pick<BootedApp, 'url' | 'gateway'>) {
  const call = async <Result>(
    path: string,
    org: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ): Promise<JsonReply<Result>> => {
    const authorization = `Bearer ${await gateway.token({ org })}`;
    const headers = { 'Content-Type': 'application/json', ...init.headers, authorization };
    const reply = await fetch(`${url}${path}`, { ...init, headers });
    return {
      status: reply.status,
      headers: Object.fromEntries(reply.headers),
      body: (await reply.json()) as JsonReply<Result>['body'],
    };
  };
  return {
    create: (body: object, org = 'org-1') =>
      call<DeviceDetail>('/device-instance', org, { method: 'POST', body: JSON.stringify(body) }),
    detail: (id: string, org = 'org-1', language = 'en') =>
      call<DeviceDetail>(`/api/v1/device/${id}/_detail`, org, {
        headers: { 'Accept-Language': language },
      }),
    list: (query: string, org = 'org-1') => call<readonly DeviceItem[]>(`/api/device${query}`, org),
  };
}

export type DeviceClient = ReturnType<typeof createDeviceClient>;
