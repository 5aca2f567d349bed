import { randomBytes } from 'node:crypto';
import type { Identity, User } from '@gatehouse/identity';
import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import type { KnownDevice } from './sign-in-throttle.ts';

const DAY_SECONDS = 24 * 60 * 60;
const LIFETIME_SECONDS = 180 * DAY_SECONDS;
const CONTEXT = 'device-cookie';
const DEVICE_ID_BYTES = 16;

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

/**
 * The cookie that identifies a browser with an earlier sign-in, so that guesses from other devices
 * do not lock it out (OWASP "device cookies"). It does not sign in a user. It outlives a sign-out,
 * and becomes invalid when the user's not-before changes: by a new password, disabling, or signing
 * out everywhere.
 */
export function createDeviceCookies(dependencies: {
  readonly provider: Provider;
  readonly identity: Pick<Identity, 'sealer' | 'findLiveHolder'>;
  /** Whether the issuer is https. */
  readonly secure: boolean;
}) {
  const { provider, secure } = dependencies;
  const { sealer, findLiveHolder } = dependencies.identity;
  const name = secure ? '__Host-device' : 'device';

  return {
    async read(request: Request, response: Response): Promise<KnownDevice | undefined> {
      const { cookies } = provider.createContext(request, response);
      const opened = sealer.tryOpen(cookies.get(name, { signed: false }) ?? '', CONTEXT);
      const [userId, deviceId, issued] = opened?.split(' ') ?? [];
      const issuedAt = Number(issued);
      if (userId === undefined || deviceId === undefined || issuedAt + LIFETIME_SECONDS < now()) {
        return undefined;
      }
      const isLive = (await findLiveHolder({ issuedAt, userId })) !== undefined;
      return isLive ? { userId, deviceId } : undefined;
    },
    issue(request: Request, response: Response, { userId, notBefore }: User): void {
      const deviceId = randomBytes(DEVICE_ID_BYTES).toString('base64url');
      // Right after a sign-out everywhere, this sign-in must count as the later of the two.
      const issuedAt = Math.max(now(), notBefore + 1);
      const { cookies } = provider.createContext(request, response);
      cookies.set(name, sealer.seal(`${userId} ${deviceId} ${issuedAt}`, CONTEXT), {
        httpOnly: true,
        sameSite: 'strict',
        secure,
        signed: false,
        path: '/',
        maxAge: LIFETIME_SECONDS * 1000,
      });
    },
  };
}

const now = () => Math.floor(Date.now() / 1000);
