import { describeStartFailure } from '@gatehouse/configuration';
import { type RunningApp, runProcess, startLog } from '@gatehouse/http-server';
import { readConfiguration } from './config.ts';
import { startDeviceService } from './device-service.ts';

await runProcess(start, (error) => describeStartFailure('device-service', error));

async function start(): Promise<RunningApp> {
  const configuration = readConfiguration(process.env);
  const logger = startLog('device-service', configuration, { buffered: true });
  return startDeviceService(configuration, logger);
}
