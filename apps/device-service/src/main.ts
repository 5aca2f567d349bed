import { runApp } from '@gatehouse/server';
import { describeStartFailure } from '@gatehouse/server/configuration';
import { readConfiguration } from './config.ts';
import { openDeviceService } from './device-service.ts';

await runApp({
  name: 'device-service',
  portVariable: 'DEVICE_SERVICE_PORT',
  loadConfiguration: () => readConfiguration(process.env),
  start: openDeviceService,
  describeFailure: describeStartFailure,
});
