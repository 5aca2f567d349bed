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
  /** Called for each attempt that failed. The message contains no address of a user. */
  readonly onMailFailure?: (message: string) => void;
}

/** Without a mail server, or a signal that ends the delivery, this server sends none. */
export function startMails(
  app: Dependencies & {
    readonly mail?: MailSettings | undefined;
    readonly delivering?: AbortSignal;
  },
): void {
  const { mail, delivering, identity } = app;
  if (mail !== undefined && delivering !== undefined) {
    const dependencies = { ...app, send: createMailer(mail) };
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
  dependencies: Dependencies & { readonly send: SendMail },
): Promise<boolean> {
  const { mails, audit } = dependencies.identity;
  const wanted = mails.open(queued);
  const mail = wanted && (await composeMail(wanted, queued.failed === 0, dependencies));
  if (wanted === undefined || mail === undefined) {
    await mails.finish(queue, queued, true);
    return true;
  }
  const sending = await dependencies.send(mail);
  const isFailed = sending.result === 'failed';
  const isAgain = await mails.finish(queue, queued, !isFailed);
  if (sending.result !== 'sent') {
    dependencies.onMailFailure?.(describe(sending.error));
  }
  if (!isAgain) {
    const event = sending.result === 'sent' ? 'mail_sent' : 'mail_undelivered';
    audit.record({ event, userId: mail.userId, mail: wanted.kind }, thisServer);
  }
  return !isFailed;
}

/** Replies of mail servers can repeat addresses, so only the kind of failure is reported. */
function describe(error: Error & { readonly code?: string; readonly responseCode?: number }) {
  const { code = error.name, responseCode } = error;
  const isOfServer = code === 'EENVELOPE' || code === 'EMESSAGE' || responseCode !== undefined;
  return isOfServer ? `${code}${responseCode ? `, reply ${responseCode}` : ''}` : error.message;
}
