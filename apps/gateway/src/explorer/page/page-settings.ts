import type { SignInSettings } from './sign-in.ts';

/** The document `/explorer/settings.json`. */
export interface PageSettings extends SignInSettings {
  /** The public URL of the gateway. */
  readonly gatewayUrl: string;
  /** The client that signs users in. */
  readonly clientId: string;
  /** Whether this client exists with the redirect URI of the page. */
  readonly isRegistered: boolean;
  /** Error code → how to fix the request. */
  readonly advice: Readonly<Record<string, string>>;
}

export async function loadPageSettings(): Promise<PageSettings> {
  const response = await fetch('explorer/settings.json', { credentials: 'omit' });
  if (!response.ok) {
    throw new Error(`The gateway replied with ${response.status} to explorer/settings.json.`);
  }
  return response.json();
}
