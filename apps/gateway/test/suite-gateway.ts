import { integrationEngines, type StoreEngineName, startStoreEngine } from '@gatehouse/testing';
import { onEachEngine } from '@gatehouse/testing/suite';
import { afterAll, beforeEach, expect } from '@jest/globals';
import {
  type BootedGateway,
  type BootOptions,
  bootGateway,
  closeUnharmed,
} from './booted-gateway.ts';
import type { Received } from './http-client.ts';

const opened: BootedGateway[] = [];
afterAll(async () => {
  await Promise.all(opened.map((gateway) => gateway.close()));
});

/** Boots a gateway that is closed after the tests of the file. */
export async function openGateway(options: BootOptions = {}): Promise<BootedGateway> {
  const gateway = await bootGateway(options);
  opened.push(gateway);
  return gateway;
}

/**
 * Boots a gateway for the tests of a file, after which it must be unharmed. Its upstream starts each
 * test without requests.
 */
export async function bootSuiteGateway(options: BootOptions = {}): Promise<BootedGateway> {
  const gateway = await bootGateway(options);
  afterAll(() => closeUnharmed(gateway));
  beforeEach(() => {
    gateway.upstream.requests.length = 0;
    gateway.upstream.answerWith(undefined);
  });
  return gateway;
}

/** Its clock advances by a second per test, so that every signature is new. */
export interface ClockedGateway extends BootedGateway {
  readonly clock: { now: number };
}

export async function bootClockedGateway(
  options: Omit<BootOptions, 'now'> = {},
): Promise<ClockedGateway> {
  const clock = { now: Date.now() };
  beforeEach(() => {
    clock.now += 1000;
  });
  const gateway = await bootSuiteGateway({ ...options, now: () => clock.now });
  return { ...gateway, clock };
}

/** Boots one gateway for each engine of the store: `describe.each(await onEngines(…))`. */
export function onEngines<Gateway extends BootedGateway>(
  boot: (options: BootOptions) => Promise<Gateway>,
  engines: readonly StoreEngineName[] = integrationEngines,
) {
  return onEachEngine(async (name) => {
    const engine = await startStoreEngine(name);
    const gateway = await boot({ storeUrl: engine.storeUrl });
    afterAll(() => engine.stop());
    return gateway;
  }, engines);
}

/** The gateway rejected the request: it forwarded and signed nothing. */
export function expectRefused(
  { upstream }: BootedGateway,
  { status, json, headers }: Received,
  expected: number,
  code: string,
): void {
  expect([status, json.code]).toEqual([expected, code]);
  expect(headers).not.toHaveProperty('x-sign');
  expect(headers).not.toHaveProperty('x-sign-v2');
  expect(upstream.requests).toEqual([]);
}
