/**
 * What the library leaves open of RFC 8628: a request without scope, a device that polls too fast, and two browsers
 * that decide about one code at the same moment.
 */
import { randomBytes } from 'node:crypto';
import type { Identity } from '@gatehouse/identity';
import Provider, { type DeviceCode, errors } from 'oidc-provider';
import { lifetimes } from '../policy/lifetimes.ts';
import { resolveScope } from '../policy/resolve-scope.ts';

/** RFC 8628 §3.2: the pace a device is told. */
const POLLING_INTERVAL_SECONDS = 5;
/** A little less: a device that keeps the pace must not be refused for a network's jitter. */
const POLLING_WINDOW_SECONDS = POLLING_INTERVAL_SECONDS - 1;

export function completeDeviceCodes(
  provider: Provider,
  { store, credentialHash }: Pick<Identity, 'store' | 'credentialHash'>,
): void {
  const { DeviceCode } = provider;
  const { save } = DeviceCode.prototype;
  const { find } = DeviceCode;

  DeviceCode.prototype.save = async function saveDecision() {
    const stage = stageOf(this);
    if (stage === 'new') {
      const { client } = Provider.ctx?.oidc ?? {};
      const requested = this.params?.scope;
      const scope = resolveScope({ requested, registered: client?.scope, excluded: [] });
      this.params = { ...this.params, scope };
    } else {
      // Of two browsers that confirm, allow or refuse the same code, one wins and the other is told.
      const owner = randomBytes(16).toString('base64url');
      const key = `device-code:${stage}:${credentialHash(this.jti)}`;
      if ((await store.claim(key, owner, lifetimes.DeviceCode)) !== owner) {
        throw new errors.InvalidGrant('another browser was faster');
      }
    }
    return save.call(this);
  };

  provider.on(
    'device_authorization.success',
    (_context: unknown, answer: { interval?: number }) => {
      answer.interval = POLLING_INTERVAL_SECONDS;
    },
  );

  DeviceCode.find = async function findPaced(value: string, options?: object) {
    const code: DeviceCode | undefined = await Reflect.apply(find, this, [value, options]);
    const { oidc } = Provider.ctx ?? {};
    const isPolled = oidc?.route === 'token' && code?.clientId === oidc.client?.clientId;
    if (code !== undefined && isPolled && !code.isExpired && stageOf(code) !== 'decided') {
      const key = `device-poll:${credentialHash(value)}`;
      const { count } = await store.increment(key, POLLING_WINDOW_SECONDS);
      if (count > 1) {
        throw new errors.SlowDown();
      }
    }
    return code;
  } as typeof find;
}

export function stageOf(code: DeviceCode): 'new' | 'confirmed' | 'decided' {
  if (code.accountId !== undefined || code.error !== undefined) {
    return 'decided';
  }
  return code.inFlight === true ? 'confirmed' : 'new';
}
