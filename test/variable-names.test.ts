/** The apps derive misspelled names from the variables that they read. */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastingKey, loadMasterKey } from '@gatehouse/identity';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';
import { loadConfiguration as loadAuthorizationServer } from '../apps/authorization-server/src/config.ts';
import { readConfiguration as loadDeviceService } from '../apps/device-service/src/config.ts';
import { loadConfiguration as loadGateway } from '../apps/gateway/src/config.ts';
import {
  readMasterKeyFile,
  writeMasterKeyFile,
} from '../packages/identity/src/secrets/master-key.ts';

const directory = temporaryFolder();

test.each([
  ['authorization server', loadAuthorizationServer],
  ['gateway', loadGateway],
  ['device service', loadDeviceService],
])('the %s starts with a misspelled variable that protects nothing, and warns', (_app, load) => {
  const { warnings } = load({ DATA_DIR: directory, LOG_LEVL: 'canary' });
  expect(warnings).toEqual([
    'LOG_LEVL: looks like a misspelling of LOG_LEVEL. Rename it or unset it',
  ]);
});

test('a former name still sets its variable, with a warning that names the new one', () => {
  const former = { DATA_DIR: directory, PAGE_REQUESTS_PER_MINUTE: '70' };
  const old = loadAuthorizationServer(former);
  expect(old.pageRateLimit).toEqual({ requests: 70, windowSeconds: 60 });
  expect(old.warnings).toEqual([
    'PAGE_REQUESTS_PER_MINUTE: still works. The next release reads only PAGE_RATE_LIMIT',
  ]);
  const both = loadAuthorizationServer({ ...former, PAGE_RATE_LIMIT: '9/1' });
  expect(both.pageRateLimit).toEqual({ requests: 9, windowSeconds: 1 });
  expect(both.warnings).toEqual([
    'PAGE_REQUESTS_PER_MINUTE: is ignored, because PAGE_RATE_LIMIT is set. The next release reads only PAGE_RATE_LIMIT',
  ]);
  expect(() => loadAuthorizationServer({ ...former, PAGE_REQUESTS_PER_MINUTE: 'many' })).toThrow(
    'PAGE_RATE_LIMIT: must be requests/seconds',
  );
});

test('a variable that the next release ignores still works, with a warning', () => {
  const { maximumConnections, identity, warnings } = loadAuthorizationServer({
    DATA_DIR: directory,
    MAXIMUM_CONNECTIONS: '7',
    SIGNING_KEY_ROTATION_DAYS: '30',
    FORMER_COMPOSE_VARIABLES: 'EDGE_NETWORK',
  });
  expect(maximumConnections).toBe(7);
  expect(identity.signingKeyPolicy.rotateAfterSeconds).toBe(30 * 24 * 3600);
  expect(warnings).toEqual([
    expect.stringMatching(/^MAXIMUM_CONNECTIONS: still works\. .* set WORKERS$/),
    expect.stringMatching(/^SIGNING_KEY_ROTATION_DAYS: still works\. .* after 90 days$/),
    expect.stringMatching(/^EDGE_NETWORK: still works\. .* docker-compose\.override\.yml/),
  ]);
});

test('the key of cookies outlives a rotation, and those of a former file still verify', () => {
  const keysOf = () => loadAuthorizationServer({ DATA_DIR: directory }).cookieKeys;
  const [derived] = keysOf();
  writeFileSync(join(directory, 'cookie.keys'), `${'k'.repeat(32)}\n`, { mode: 0o600 });
  expect(keysOf()).toEqual([derived, 'k'.repeat(32)]);
  const path = join(directory, 'master.key');
  const before = readMasterKeyFile(path);
  const pepper = lastingKey(loadMasterKey(path, false), 'credential-pepper');
  const successor = lastingKey(loadMasterKey(path, false), 'refresh-successor');
  writeMasterKeyFile(path, {
    current: randomBytes(32),
    next: undefined,
    previous: before.current,
    lasting: { 'credential-pepper': pepper, 'refresh-successor': successor },
  });
  expect(keysOf()[0]).toBe(derived);
});
