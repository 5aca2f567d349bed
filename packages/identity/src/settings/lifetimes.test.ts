import { describe, expect, test } from '@jest/globals';
import {
  clientLifetimes,
  grantSeconds,
  installationLifetimes,
  lifetimesOf,
  lifetimeWarnings,
} from './lifetimes.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

describe('a lifetime', () => {
  test.each([{ accessToken: 59 }, { accessToken: 31 * DAY }, { code: 601 }, { other: 60 }])(
    'has bounds: %j',
    (lifetimes) => {
      expect(installationLifetimes.safeParse(lifetimes).success).toBe(false);
    },
  );

  test('of a session is not a setting of a client', () => {
    expect(clientLifetimes.safeParse({ session: DAY }).success).toBe(false);
    expect(installationLifetimes.safeParse({ session: DAY }).success).toBe(true);
  });

  test('is that of the client, otherwise of the installation', () => {
    expect(lifetimesOf({})).toMatchObject({ accessToken: 2 * HOUR, refreshToken: 30 * DAY });
    const installation = { accessToken: HOUR, idToken: 60 };
    const client = { accessToken: 3 * HOUR };
    expect(lifetimesOf(installation, client)).toMatchObject({
      accessToken: 3 * HOUR,
      idToken: 60,
    });
  });

  test('of an access token is the shorter one of client and resource', () => {
    const resource = { accessToken: 120 };
    expect(lifetimesOf({}, {}, resource).accessToken).toBe(120);
    expect(lifetimesOf({}, { accessToken: 60 }, resource).accessToken).toBe(60);
    expect(lifetimesOf({}, { accessToken: HOUR }, resource).accessToken).toBe(120);
  });

  test('of a grant is longer than that of its refresh tokens', () => {
    expect(grantSeconds(lifetimesOf({}))).toBe(60 * DAY);
    expect(grantSeconds({ refreshToken: 365 * DAY })).toBe(395 * DAY);
  });

  test('that is longer than usual gets a warning', () => {
    expect(lifetimeWarnings('', { accessToken: DAY, refreshToken: 90 * DAY })).toEqual([]);
    expect(lifetimeWarnings('clients.0.', { accessToken: 2 * DAY })).toEqual([
      expect.stringContaining('clients.0.lifetimes.accessToken: '),
    ]);
    expect(lifetimeWarnings('')).toEqual([]);
  });
});
