/** The page that leads to an upstream provider, and the pages of what can fail on the way and back. */
import type { SignInReasonName } from '@gatehouse/errors';
import type { Upstream } from '@gatehouse/identity';
import { fill, observedRequest, plainName } from '@gatehouse/server';
import { type NextStep, noteFailure, type PageError, sendErrorPage } from '../pages/error-page.ts';
import { linkButton, sendPage } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';

/** The message is for the log. */
export class UpstreamFailure extends Error {
  override name = 'UpstreamFailure';
  readonly page: {
    readonly status: 400 | 403 | 404 | 502;
    readonly error: PageError;
    /** For the log and the audit trail. */
    readonly reason?: SignInReasonName;
    readonly userId?: string | undefined;
  };

  constructor(message: string, page: UpstreamFailure['page'], cause?: unknown) {
    super(message, { cause });
    this.page = page;
  }
}

interface PageExchange {
  readonly request: Parameters<typeof sendErrorPage>[0];
  readonly response: Parameters<typeof sendErrorPage>[1];
}

/**
 * Sends the page of a failure. It leads to the next step.
 *
 * @returns what the audit trail reports
 * @throws every other error
 */
export function sendUpstreamFailure(
  failure: unknown,
  { request, response }: PageExchange,
  next: NextStep,
) {
  if (!(failure instanceof UpstreamFailure)) {
    throw failure;
  }
  const { status, error, reason, userId } = failure.page;
  observedRequest(request).notes.finding = failure.message;
  if (reason !== undefined) {
    noteFailure(request, error, reason);
  }
  sendErrorPage(request, response, status, error, next);
  return { reason, userId };
}

/**
 * Replies to a form. A redirect would have to be a target of the form in each page before
 * (`form-action`), with every host to which the provider redirects. Browsers leave this page at once.
 */
export function sendWayTo(
  address: string,
  { name }: Upstream,
  { texts, response }: { readonly texts: Texts } & Pick<PageExchange, 'response'>,
): void {
  const title = fill(texts.upstreamContinue, { provider: plainName(name) });
  response.set('Refresh', `0; url=${address}`);
  sendPage(response, { texts, title, content: linkButton(address, title) });
}
