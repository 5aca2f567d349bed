import { runApp } from '@gatehouse/server';
import { openDeviceService } from './app.ts';
import { readConfiguration } from './config.ts';

await runApp({
  name: 'device-service',
  portVariable: 'DEVICE_SERVICE_PORT',
  loadConfiguration: () => readConfiguration(process.env),
  start: openDeviceService,
});
