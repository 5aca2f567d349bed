/**
 * Sends a mail through the mail server of `SMTP_URL`. Passwords and mails leave the machine only over
 * TLS with a valid certificate for the host. No setting turns this off.
 */
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import { createTransport } from 'nodemailer';
import { z } from 'zod';

const SUBMISSION_PORT = 587;
const TLS_PORT = 465;
const STEP_MILLISECONDS = 10_000;
/** The claim of an attempt lives longer (packages/identity/src/tokens/delivery-queue.ts). */
const SEND_MILLISECONDS = 40_000;

/** `smtps` starts with TLS, and `smtp` with STARTTLS. */
export const smtpUrl = z.string().refine((text) => {
  const { protocol = '', host = '', pathname = '', search = '', hash = '' } = URL.parse(text) ?? {};
  const rest = pathname + search + hash;
  return /^smtps?:$/.test(protocol) && host !== '' && (rest === '' || rest === '/');
}, 'must be smtp://HOST or smtps://HOST, with USER:PASSWORD@ and :PORT if needed, and nothing else');

/** `Name <address>`, or an address. */
export const mailAddress = z.string().transform((text, context) => {
  const [, name = '', inBrackets, alone] =
    /^(?:([^<>\p{Cc}]*?) *<([^<>]*)>|([^<>]*))$/u.exec(text) ?? [];
  const address = z.email().safeParse(inBrackets ?? alone);
  if (address.success) {
    return { name, address: address.data };
  }
  context.addIssue({
    code: 'custom',
    message: 'must be an email address, such as Example <no-reply@example.com>',
  });
  return z.NEVER;
});

export interface MailSettings {
  readonly url: string;
  readonly from: z.output<typeof mailAddress>;
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** `rejected`: this mail can never be sent. `failed`: a later attempt can succeed. */
export type SendResult =
  | { readonly result: 'sent' }
  | { readonly result: 'rejected' | 'failed'; readonly error: Error };

export type SendMail = (mail: Mail) => Promise<SendResult>;

export function createMailer({ url, from }: MailSettings): SendMail {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const transport = createTransport({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (secure ? TLS_PORT : SUBMISSION_PORT),
    secure,
    // Nothing leaves the machine on the way to a loopback address.
    requireTLS: !secure && !isLoopbackUrl(url),
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    connectionTimeout: STEP_MILLISECONDS,
    greetingTimeout: STEP_MILLISECONDS,
    socketTimeout: STEP_MILLISECONDS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async ({ to, ...mail }) => {
    // The library reads a text as a list of addresses.
    if (!z.email().safeParse(to).success) {
      return { result: 'rejected', error: new Error('The address of the user is invalid.') };
    }
    try {
      await transport.sendMail({
        ...mail,
        from,
        to,
        // Mail programs do not answer it, for example with a notice of an absence (RFC 3834).
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.timeout(SEND_MILLISECONDS),
      });
      return { result: 'sent' };
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      return { result: isPermanent(error) ? 'rejected' : 'failed', error };
    }
  };
}

/** The server knows that the address or the mail is wrong. A wrong password can be corrected. */
function isPermanent(error: Error & { readonly code?: string; readonly responseCode?: number }) {
  const isOfMail = error.code === 'EENVELOPE' || error.code === 'EMESSAGE';
  return isOfMail && (error.responseCode ?? 0) >= 500;
}
