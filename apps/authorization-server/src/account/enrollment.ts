/**
 * The enrollment of an authenticator app or a passkey, and the list of recovery codes: on the account
 * page and at sign-in. Until a code confirms it, the secret of an app is only in the form, sealed for
 * its user.
 */

import type { IncomingMessage } from 'node:http';
import { type Identity, passkeyName, type User } from '@gatehouse/identity';
import { type Html, html, sentence } from '@gatehouse/server';
import type { Request } from 'express';
import { generate } from 'lean-qr';
import { toSvgPath } from 'lean-qr/extras/svg';
import { recordChange } from '../mail/compose.ts';
import { brandOf, nameOf } from '../pages/branding.ts';
import { formProblems, noteFailure } from '../pages/error-page.ts';
import { formField, problemNotice } from '../pages/page.ts';
import type { Texts } from '../pages/texts-en.ts';
import type { AccountDependencies } from './account.ts';
import { type CeremonyPage, methodsOf } from './passkey-ceremony.ts';

const PENDING_MILLISECONDS = 30 * 60 * 1000;

type Dependencies = Pick<AccountDependencies, 'identity' | 'mails' | 'passkeyCeremonies'>;

interface Enrolled {
  /** What the user proved with the new factor (RFC 8176). */
  readonly amr: readonly string[];
  /** Undefined if the user has some. */
  readonly codes?: readonly string[] | undefined;
}

export interface FailedEnrollment {
  readonly problem: 'code' | keyof Texts['passkeyProblems'];
  /** The sealed secret of the form, if it can be used again. */
  readonly pending?: string | undefined;
}

/** Where the user enrolls. */
interface Place {
  readonly user: User;
  readonly ceremony: CeremonyPage;
  /** Whether it must be the first factor of the user. */
  readonly isFirst: boolean;
}

/** Enrolls the app or the passkey of the submitted form. */
export async function enroll(
  request: Request,
  place: Place,
  dependencies: Dependencies,
): Promise<Enrolled | FailedEnrollment> {
  const isPasskey = formField(request, 'passkey') !== '';
  const result = await (isPasskey ? addPasskey : addApp)(request, place, dependencies);
  if ('problem' in result) {
    const failure = isPasskey ? 'passkeyRefused' : 'codeRefused';
    noteFailure(request, failure, formProblems[failure]);
  } else {
    const change = isPasskey ? 'passkey_added' : 'factor_enrolled';
    await recordChange(request, place.user, change, dependencies);
  }
  return result;
}

async function addApp(
  request: Request,
  { user, isFirst }: Place,
  { identity }: Dependencies,
): Promise<Enrolled | FailedEnrollment> {
  const pending = formField(request, 'pending');
  const secret = openPending(pending, user, identity);
  const code = formField(request, 'code');
  const codes = secret && (await identity.factors.enroll(user.userId, { secret, isFirst }, code));
  return codes ? { amr: ['otp'], codes } : { problem: 'code', pending: secret && pending };
}

async function addPasskey(
  request: Request,
  { user, ceremony, isFirst }: Place,
  { identity, passkeyCeremonies }: Dependencies,
): Promise<Enrolled | FailedEnrollment> {
  const posted = formField(request, 'passkey');
  const verified = await passkeyCeremonies.verifyRegistration(ceremony, posted);
  const name = nameIn(request);
  if (verified === undefined || name === undefined) {
    return { problem: 'wrong' };
  }
  const added = await identity.passkeys.add(user.userId, { ...verified, name }, { isFirst });
  return typeof added === 'string' ? { problem: added } : { amr: methodsOf(verified), ...added };
}

/** The name of a passkey. Browsers post no invalid one. */
export const nameIn = (request: Request): string | undefined =>
  passkeyName.safeParse(formField(request, 'name').trim()).data;

const pendingContext = ({ userId }: User) => `factor-enrollment:${userId}`;

function openPending(pending: string, user: User, { sealer }: Identity): string | undefined {
  const [secret, until] = (sealer.tryOpen(pending, pendingContext(user)) ?? '').split(' ');
  return Date.now() < Number(until) ? secret : undefined;
}

/** The form that enrolls an app. */
export function appForm(
  request: IncomingMessage,
  { user, texts, csrf }: { readonly user: User; readonly texts: Texts; readonly csrf: Html },
  identity: Identity,
  form: {
    readonly action: string;
    readonly failed?: FailedEnrollment | undefined;
    /** Another button. */
    readonly more?: Html | undefined;
  },
): Html {
  const { factors, sealer } = identity;
  const hasFailed = form.failed?.problem === 'code';
  const known = openPending(form.failed?.pending ?? '', user, identity);
  const secret = known ?? factors.newSecret();
  const until = Date.now() + PENDING_MILLISECONDS;
  const pending = sealer.seal(`${secret} ${until}`, pendingContext(user));
  const label = { issuer: nameOf(brandOf(request)), username: user.username };
  const address = factors.appAddress(secret, label);
  const key = html`<span class="code" translate="no">${secret.replace(/.{4}(?=.)/g, '$& ')}</span>`;
  return html`<p class="lead">${texts.enrollLead}</p>
<form method="post" action="${form.action}">
${csrf}
<input type="hidden" name="pending" value="${pending}">
${qrCode(address, texts.appQrCode)}
<p class="small">${sentence(texts.appKey, { key })}<br><a href="${address}">${texts.appOpen}</a></p>
${problemNotice(hasFailed ? texts.appCodeWrong : undefined)}
${codeField(texts.appCode, { hasFailed })}
<button class="primary" type="submit">${texts.continue}</button>
${form.more}
</form>`;
}

/** What is wrong with a passkey, above the forms. */
export const passkeyNotice = (failed: FailedEnrollment | undefined, texts: Texts) =>
  failed === undefined || failed.problem === 'code'
    ? undefined
    : problemNotice(texts.passkeyProblems[failed.problem]);

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
