/**
 * Sends the mails of the queue (packages/identity/src/tokens/mail-queue.ts).
 *
 *   page or command ─▶ queue ─▶ user and link ─▶ SMTP ─▶ done, or later again
 */
import { deliverQueues, type Identity, type QueuedMail } from '@gatehouse/identity';
import { thisServer } from '../requests/caller.ts';
import { composeMail } from './compose.ts';
import { createMailer, type MailSettings, type SendMail } from './mailer.ts';

interface Dependencies {
  readonly identity: Identity;
  readonly issuer: string;
  readonly send: SendMail;
  /** Called for each attempt that failed. The message contains no address of a user. */
  readonly onFailure?: ((message: string) => void) | undefined;
}

/** Without a mail server, or a signal that ends the delivery, this server sends none. */
export function startMails(app: {
  readonly mail?: MailSettings | undefined;
  readonly delivering?: AbortSignal;
  readonly identity: Identity;
  readonly issuer: string;
  readonly onMailFailure?: (message: string) => void;
}): void {
  const { mail, delivering, identity, issuer, onMailFailure: onFailure } = app;
  if (mail !== undefined && delivering !== undefined) {
    const dependencies = { identity, issuer, send: createMailer(mail), onFailure };
    // While the mail server is down, each pass makes one attempt.
    void deliverQueues(
      identity.mails,
      (queue, queued) => attempt(queue, queued, dependencies),
      delivering,
    );
  }
}

/** @returns false if the mail server did not accept it, and may accept it later */
async function attempt(
  queue: string,
  queued: QueuedMail,
  { identity, issuer, send, onFailure }: Dependencies,
): Promise<boolean> {
  const { mails, audit } = identity;
  const wanted = mails.open(queued);
  const isFirst = queued.failed === 0;
  const mail = wanted && (await composeMail(wanted, { identity, issuer, isFirst }));
  if (wanted === undefined || mail === undefined) {
    await mails.finish(queue, queued, true);
    return true;
  }
  const { userId } = mail;
  const sending = await send(mail);
  const isFailed = sending.result === 'failed';
  const isAgain = await mails.finish(queue, queued, !isFailed);
  if (sending.result === 'sent') {
    audit.record({ event: 'mail_sent', userId, mail: wanted.kind }, thisServer);
    return true;
  }
  onFailure?.(describe(sending.error));
  if (!isAgain) {
    audit.record({ event: 'mail_undelivered', userId, mail: wanted.kind }, thisServer);
  }
  return !isFailed;
}

/** Replies of mail servers can repeat addresses, so only the kind of failure is reported. */
function describe(error: Error & { readonly code?: string; readonly responseCode?: number }) {
  const { code = error.name, responseCode } = error;
  const isOfServer = code === 'EENVELOPE' || code === 'EMESSAGE' || responseCode !== undefined;
  return isOfServer ? `${code}${responseCode ? `, reply ${responseCode}` : ''}` : error.message;
}
