/** The scopes of the operations on devices. */
export const deviceScopes = ['device:read', 'device:write', 'device:log', 'device:report'] as const;

export type DeviceScope = (typeof deviceScopes)[number];
