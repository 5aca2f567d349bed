/**
 * The parts of RFC 8628 that the library leaves to its adapter: the bytes that a request may store,
 * a device that polls too fast, and two browsers that decide about one code at the same moment.
 */
import type { Identity } from '@gatehouse/identity';
import { claimOnce } from '@gatehouse/store';
import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { lifetimes } from '../requests/lifetimes.ts';
import { contextOf } from '../requests/request-context.ts';
import { providerRoutes } from '../requests/routes.ts';
import { chargeStoredRequest } from '../throttle/stored-budgets.ts';
import { beforeUpsert, currentContext, type ProviderMiddleware } from './library.ts';

/** RFC 8628 §3.2: the polling interval that a device is told. */
const POLLING_INTERVAL_SECONDS = 5;
/** One second less, so that network jitter does not make a correct device too fast. */
const POLLING_WINDOW_SECONDS = POLLING_INTERVAL_SECONDS - 1;

export function completeDeviceCodes(
  stored: Adapter,
  { store, credentialHash }: Pick<Identity, 'store' | 'credentialHash'>,
): Adapter {
  /**
   * Of two browsers that confirm, allow or deny the same code, one wins and the other gets an
   * error.
   */
  async function claimStage(id: string, stage: 'confirmed' | 'decided'): Promise<void> {
    const key = `device-code:${stage}:${credentialHash(id)}`;
    if (!(await claimOnce(store, key, lifetimes.DeviceCode))) {
      throw new errors.InvalidGrant('another browser was faster');
    }
  }

  return {
    ...beforeUpsert(stored, (payload, id) => {
      const stage = stageOf(payload);
      return stage === 'new'
        ? chargeStoredRequest(store, 'device', payload.params, currentContext())
        : claimStage(id, stage);
    }),
    async find(id) {
      const code = await stored.find(id);
      if (code !== undefined && isPolled(code) && stageOf(code) !== 'decided') {
        const key = `device-poll:${credentialHash(id)}`;
        const { count } = await store.increment(key, POLLING_WINDOW_SECONDS);
        if (count > 1) {
          throw new errors.SlowDown();
        }
      }
      return code;
    },
  };
}

function isPolled({ clientId, exp = 0 }: AdapterPayload): boolean {
  const { oidc } = currentContext() ?? {};
  const isExpired = exp <= Math.floor(Date.now() / 1000);
  return oidc?.route === 'token' && oidc.client?.clientId === clientId && !isExpired;
}

function stageOf(code: AdapterPayload): 'new' | 'confirmed' | 'decided' {
  if (code.accountId !== undefined || code.error !== undefined) {
    return 'decided';
  }
  return code.inFlight === true ? 'confirmed' : 'new';
}

/** RFC 8628 §3.2: the library omits the interval. */
export const addPollingInterval: ProviderMiddleware = async (context, next) => {
  await next();
  const { body } = context;
  const isDeviceCode = typeof body === 'object' && body !== null && 'device_code' in body;
  if (isDeviceCode && context.path === providerRoutes.device_authorization) {
    context.body = { ...body, interval: POLLING_INTERVAL_SECONDS };
  }
};

/**
 * A device gets a separate grant, which the browser's session does not keep: a sign-out in the
 * browser leaves the device signed in, a second device needs a new consent, and ending one does not
 * end the other.
 */
export const isDeviceRoute = ({ oidc }: KoaContextWithOIDC): boolean =>
  oidc.route === 'code_verification' || oidc.route === 'device_resume';

/** Restores the session's grant, once the device code has its own. */
export function detachDeviceGrant({ oidc: { session, client }, req }: KoaContextWithOIDC): void {
  const clientId = client?.clientId ?? '';
  const grantId = contextOf(req).sessionGrantId;
  if (session !== undefined) {
    const own = { ...session.authorizationFor(clientId), grantId };
    session.authorizations = { ...session.authorizations, [clientId]: own };
  }
}
