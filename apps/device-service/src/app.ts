/**
 * The device service: the platform's device operations, behind the gateway.
 *
 *   http/ ─▶ devices/ ─▶ database/        config.ts and main.ts make it a process
 *     └▶ query-grammar/ (parameters → what is asked for)
 *
 * Deliberately not here: credentials of the outside world, signatures and rate limits are the gateway's.
 * This service believes the gateway's internal token and nothing else.
 */
import type { RequestListener } from 'node:http';
import { type Logger, observeRequests } from '@gatehouse/http-server';
import express from 'express';
import type { DevicesOf } from './devices/devices.ts';
import { authenticate } from './http/authenticate.ts';
import {
  handleCreateDevice,
  handleGetDeviceDetail,
  handleListDevices,
} from './http/device-handlers.ts';
import { mountRoutes, type Route } from './http/mount-routes.ts';
import { refuseUnknownRoute, replyFailures } from './http/reply-failures.ts';
import { setReplyHeaders } from './http/reply-headers.ts';
import type { IdentifyCaller } from './http/verified-token-cache.ts';

export interface AppDependencies {
  readonly devicesOf: DevicesOf;
  readonly identifyCaller: IdentifyCaller;
  readonly generateId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly logger: Logger;
}

export function createApp(dependencies: AppDependencies): RequestListener {
  const { devicesOf, identifyCaller, generateId, now, logger } = dependencies;

  const routes: readonly Route[] = [
    {
      method: 'GET',
      path: '/api/device',
      operation: 'device.list',
      scope: 'device:read',
      handle: handleListDevices({ devicesOf }),
    },
    {
      method: 'GET',
      path: '/api/v1/device/:deviceId/_detail',
      operation: 'device.detail',
      scope: 'device:read',
      handle: handleGetDeviceDetail({ devicesOf }),
    },
    {
      method: 'POST',
      path: '/device-instance',
      operation: 'device.create',
      scope: 'device:write',
      handle: handleCreateDevice({ devicesOf, generateId, now }),
    },
  ];

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app.use(setReplyHeaders);
  app.use(authenticate(identifyCaller));
  mountRoutes(app, routes, now);
  app.use(refuseUnknownRoute);
  app.use(replyFailures(now));
  return observeRequests(app, logger);
}
