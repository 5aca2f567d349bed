/**
 * The form that enrolls an authenticator app, and the list of recovery codes: on the account page and
 * at sign-in. Until a code confirms it, the secret is only in the form, sealed for its user.
 */
import type { IncomingMessage } from 'node:http';
import type { Identity, User } from '@gatehouse/identity';
import type { Request } from 'express';
import { generate } from 'lean-qr';
import { toSvgPath } from 'lean-qr/extras/svg';
import { brandOf, nameOf } from '../pages/branding.ts';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { type Html, html, sentence } from '../pages/html.ts';
import { formField, problemNotice } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import { recordEvent } from '../requests/caller.ts';

const PENDING_MILLISECONDS = 30 * 60 * 1000;

const pendingContext = ({ userId }: User) => `factor-enrollment:${userId}`;

/** The sealed secret of the form that failed, if it can be used again. */
export interface FailedEnrollment {
  readonly pending?: string | undefined;
}

function openPending(pending: string, user: User, { sealer }: Identity): string | undefined {
  const [secret, until] = (sealer.tryOpen(pending, pendingContext(user)) ?? '').split(' ');
  return Date.now() < Number(until) ? secret : undefined;
}

/**
 * Enrolls the app of the submitted form.
 *
 * @param mayReplace whether the new app may replace the one that the user has
 */
export async function enrollApp(
  request: Request,
  user: User,
  identity: Identity,
  { mayReplace }: { readonly mayReplace: boolean },
): Promise<FailedEnrollment & { readonly codes?: readonly string[] }> {
  const pending = formField(request, 'pending');
  const secret = openPending(pending, user, identity);
  const { userId } = user;
  const code = formField(request, 'code');
  const codes = secret && (await identity.factors.enroll(userId, { secret, mayReplace }, code));
  if (!codes) {
    noteFailure(request, 'codeRefused', formProblems.codeRefused);
    return { pending: secret && pending };
  }
  recordEvent(request, { event: 'user_changed', userId, change: 'factor_enrolled' }, identity);
  return { codes };
}

/** The form that enrolls an app. */
export function enrollmentForm(
  request: IncomingMessage,
  { user, texts }: { readonly user: User; readonly texts: Texts },
  identity: Identity,
  form: {
    readonly action: string;
    readonly csrf: Html;
    readonly failed?: FailedEnrollment | undefined;
    /** Another button. */
    readonly more?: Html | undefined;
  },
): Html {
  const { factors, sealer } = identity;
  const { failed } = form;
  const known = openPending(failed?.pending ?? '', user, identity);
  const secret = known ?? factors.newSecret();
  const pending = sealer.seal(
    `${secret} ${Date.now() + PENDING_MILLISECONDS}`,
    pendingContext(user),
  );
  const label = { issuer: nameOf(brandOf(request)), username: user.username };
  const address = factors.appAddress(secret, label);
  const key = html`<span class="code" translate="no">${secret.replace(/.{4}(?=.)/g, '$& ')}</span>`;
  const hasFailed = failed !== undefined;
  return html`<p class="lead">${texts.enrollLead}</p>
<form method="post" action="${form.action}">
${form.csrf}
<input type="hidden" name="pending" value="${pending}">
${qrCode(address, texts.appQrCode)}
<p class="small">${sentence(texts.appKey, { key })}<br><a href="${address}">${texts.appOpen}</a></p>
${problemNotice(hasFailed ? texts.appCodeWrong : undefined)}
${codeField(texts.appCode, { hasFailed })}
<button class="primary" type="submit">${texts.continue}</button>
${form.more}
</form>`;
}

/** A field for a code that a person reads elsewhere. Without a hint, the code has only digits. */
export function codeField(
  label: string,
  { hasFailed, hint }: { readonly hasFailed: boolean; readonly hint?: string },
): Html {
  const describing = [...(hasFailed ? ['problem'] : []), ...(hint ? ['hint'] : [])].join(' ');
  const described = describing && html` aria-describedby="${describing}"`;
  const invalid = hasFailed ? html` aria-invalid="true"` : undefined;
  const keyboard = hint ? undefined : html` inputmode="numeric"`;
  return html`<label for="code">${label}</label>
<input class="code" id="code" name="code" type="text" autocomplete="one-time-code"${keyboard} autocapitalize="characters" autocorrect="off" spellcheck="false" translate="no" required maxlength="32"${described}${invalid} autofocus>
${hint && html`<p class="hint" id="hint">${hint}</p>`}`;
}

/** Dark on light in every color scheme, because cameras do not read the inverse. */
function qrCode(text: string, label: string): Html {
  const code = generate(text);
  const size = String(code.size + 8);
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="-4 -4 ${size} ${size}"><rect x="-4" y="-4" width="${size}" height="${size}" fill="#fff"/><path d="${toSvgPath(code)}" fill="#000"/></svg>`;
}

/** The codes, which no later page shows. */
export function recoveryCodeList(codes: readonly string[], texts: Texts): Html {
  return html`<p>${texts.recoveryLead}</p>
<ul class="codes" translate="no">${codes.map((code) => html`<li class="code">${code}</li>`)}</ul>
<p class="warning">${texts.recoveryOnce}</p>`;
}
