import { describeStartFailure } from '@gatehouse/configuration';
import { runApp } from '@gatehouse/http-server';
import { readConfiguration } from './config.ts';
import { openDeviceService } from './device-service.ts';

await runApp({
  name: 'device-service',
  portVariable: 'DEVICE_SERVICE_PORT',
  loadConfiguration: () => readConfiguration(process.env),
  start: openDeviceService,
  describeFailure: describeStartFailure,
});
