import { afterAll, beforeEach } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';

/** Boots a gateway for the tests of a file. Its upstream starts each test without requests. */
export async function bootSuiteGateway(): Promise<BootedGateway> {
  const booted = await bootGateway();
  afterAll(() => closeUnharmed(booted));
  beforeEach(() => {
    booted.upstream.requests.length = 0;
    booted.upstream.answerWith(undefined);
  });
  return booted;
}
