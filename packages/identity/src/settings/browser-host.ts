/** The hosts of applications to which users sign in through `/_verify` of the gateway. */
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import { z } from 'zod';
import { identifier, text } from '../records/record.ts';

/** Where the browser returns from the sign-in. The proxy asks about this path like about others. */
export const BROWSER_CALLBACK_PATH = '/_gatehouse/callback';

/** Of the client ids of hosts. */
const CLIENT_PREFIX = 'gatehouse:browser:';

export const browserHostSchema = z.strictObject({
  host: z
    .string()
    .max(255)
    .refine(
      (host) => !host.includes('*') && URL.parse(originOf(host))?.host === host,
      'must be a host in lower case, with its port unless it is the usual one',
    ),
  /** For the sign-in page and the account page. */
  name: text(200),
  /** Only users of this organization may sign in. Undefined: all users. */
  orgId: identifier.optional(),
  /** False ends all sessions of the host. */
  enabled: z.boolean().default(true),
});

export type BrowserHost = Readonly<z.output<typeof browserHostSchema>>;

/** Only loopback hosts are served without TLS. */
export function originOf(host: string): string {
  const plain = `http://${host}`;
  return URL.canParse(plain) && isLoopbackUrl(plain) ? plain : `https://${host}`;
}

/** The client of a host, for authorization requests and in the log. */
export const browserClientId = (host: string): string => CLIENT_PREFIX + host;

export const isBrowserClientId = (clientId: string | undefined): clientId is string =>
  clientId?.startsWith(CLIENT_PREFIX) === true;
