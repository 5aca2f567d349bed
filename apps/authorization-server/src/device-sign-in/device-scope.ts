import type { DeviceCode } from 'oidc-provider';

/** The scopes of the device's request. They were validated, or set if missing, when the code was created. */
export function deviceScopeOf(code: DeviceCode | undefined): readonly string[] {
  const scope = code?.params?.scope;
  return typeof scope === 'string' ? scope.split(' ').filter((each) => each !== '') : [];
}
