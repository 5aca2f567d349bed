import type { DeviceCode } from 'oidc-provider';

/** What the device asked for; it was checked, and filled in where it was missing, when the code was made. */
export function deviceScopeOf(code: DeviceCode | undefined): readonly string[] {
  const scope = code?.params?.scope;
  return typeof scope === 'string' ? scope.split(' ').filter((each) => each !== '') : [];
}
