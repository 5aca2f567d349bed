import type { Request } from 'express';
import { createDevice } from '../devices/create-device.ts';
import { describeDevice, describeSummary, type LabelLanguage } from '../devices/describe-device.ts';
import type { DevicesOf } from '../devices/devices.ts';
import { getDeviceDetail } from '../devices/get-device-detail.ts';
import { listDevices } from '../devices/list-devices.ts';
import { readJsonBody } from './json-body.ts';
import type { Route } from './mount-routes.ts';

type Handler = Route['handle'];

/** Operation 2: an array, as the specification says, with the count beside it. */
export function handleListDevices({ devicesOf }: { readonly devicesOf: DevicesOf }): Handler {
  return async (request, caller) => {
    const page = await listDevices(queryOf(request), { devices: devicesOf(caller.organizationId) });
    const language = languageOf(request);
    return {
      result: page.devices.map((device) => describeSummary(device, language)),
      headers: { 'X-Total-Count': String(page.total) },
    };
  };
}

/** Operation 5. */
export function handleGetDeviceDetail({ devicesOf }: { readonly devicesOf: DevicesOf }): Handler {
  return async (request, caller) => {
    const device = await getDeviceDetail(String(request.params.deviceId), {
      devices: devicesOf(caller.organizationId),
    });
    return { result: describeDevice(device, languageOf(request)) };
  };
}

/** Operation 3: the result is the stored entity. */
export function handleCreateDevice(dependencies: {
  readonly devicesOf: DevicesOf;
  readonly generateId: () => string;
  readonly now: () => number;
}): Handler {
  return async (request, caller) => {
    const device = await createDevice(await readJsonBody(request), {
      devices: dependencies.devicesOf(caller.organizationId),
      generateId: dependencies.generateId,
      now: dependencies.now,
    });
    return { result: describeDevice(device, languageOf(request)) };
  };
}

/** The query as it came, repeated parameters included; Express's own parsers guess. */
function queryOf(request: Request): URLSearchParams {
  return new URLSearchParams(request.url.split('?').slice(1).join('?'));
}

function languageOf(request: Request): LabelLanguage {
  return request.acceptsLanguages('en', 'zh') === 'zh' ? 'zh' : 'en';
}
