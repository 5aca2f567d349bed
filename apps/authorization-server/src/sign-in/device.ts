/**
 * The pages of the device authorization grant (RFC 8628). The user enters the code that the device
 * shows, confirms it, and continues to the ordinary sign-in and consent. The provider owns the flow
 * and calls these functions for markup: /device → confirm → /sign-in/{interaction} →
 * /device/{interaction} → done. A link with the code (`verification_uri_complete`) only fills in
 * the form. provider/device-codes.ts handles polling and races.
 */
import type { Identity } from '@gatehouse/identity';
import { fill, foreignName, type Html, html, observedRequest, sentence } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import type { Configuration, ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { noteReason } from '../outcomes/reasons.ts';
import { messageOf, noteFailure, rejectedForms } from '../pages/error-page.ts';
import { minutesOf } from '../pages/languages.ts';
import {
  hasCookies,
  linkButton,
  type Page,
  problemNotice,
  scopeList,
  sendPage,
  showPage,
  textsFor,
  xsrfField,
} from '../pages/page.ts';
import type { TextName, Texts } from '../pages/texts-en.ts';
import { detachDeviceGrant } from '../provider/device-codes.ts';
import { settingsOf } from '../provider/resources.ts';
import { providerRoutes } from '../requests/routes.ts';
import type { UserCodeReply } from '../throttle/limits.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

export function deviceFlow(identity: Identity): DeviceFlow {
  return {
    enabled: true,
    charset: 'base-20',
    mask: '****-****',
    // Nothing about the device is stored: a device could claim anything about itself.
    deviceInfo: () => ({}),
    userCodeInputSource: (context, _form, out, error) => showInput(context, out, error),
    userCodeConfirmSource: (context, _form, { clientId }, _deviceInfo, userCode) =>
      showConfirmation(context, clientId, userCode, identity),
    async successSource(context) {
      detachDeviceGrant(context);
      const texts = textsFor(context);
      const client = await identity.clients.find(context.oidc.client?.clientId ?? '');
      const name = html`<strong>${foreignName(client?.name ?? '')}</strong>`;
      const content = html`<p class="success" role="status">${sentence(texts.deviceDone, { client: name })}</p>
${linkButton('/account', texts.openAccount)}`;
      showPage(context, { texts, title: texts.deviceDoneTitle, content });
    },
  };
}

/**
 * `verification_uri_complete` (RFC 8628 §3.3.1): the library would reply with a form that submits
 * itself with an inline script. Without the code in the address, it shows its form, which the page
 * fills in from `originalUrl`.
 */
export const linkWithCode: RequestHandler = (request, _response, next) => {
  request.url = request.path;
  next();
};

/** Replies to a code that was not evaluated (throttle/limits.ts). */
export const rejectUserCode: UserCodeReply = (request, response, { seconds, isStranger }) => {
  const texts = textsFor(request);
  noteFailure(request, 'tooManyAttempts', 'user_code_limit');
  const text = isStranger ? texts.deviceSignInFirst : texts.deviceTooMany;
  const problem = fill(text, { time: minutesOf(Math.ceil(seconds / 60), texts) });
  const next = isStranger ? linkButton('/account', texts.signIn) : anotherCode(texts);
  response.status(429).set('Retry-After', String(seconds));
  sendPage(response, problemPage(texts, problem, next));
};

/** Problems with the code itself, which another code solves. */
const codeProblems: Readonly<Record<string, TextName>> = {
  NoCodeError: 'deviceLead',
  NotFoundError: 'deviceNotFound',
  ExpiredError: 'deviceExpired',
  AlreadyUsedError: 'deviceUsed',
};

const otherProblems: Readonly<Record<string, TextName>> = {
  InvalidGrant: 'deviceUsed',
  SessionNotFound: 'deviceStale',
  InvalidRequest: 'deviceStale',
};

function showInput(
  context: KoaContextWithOIDC,
  out: ErrorOut | undefined,
  error: Error | undefined,
): void {
  const texts = textsFor(context);
  if (error?.name === 'AbortedError') {
    const content = html`<p>${texts.deviceStopped}</p>
${anotherCode(texts)}`;
    showPage(context, { texts, title: texts.deviceStoppedTitle, content });
    return;
  }
  if (error === undefined) {
    showForm(context, undefined, codeOfLink(context));
    return;
  }
  const { notes } = observedRequest(context.req);
  notes.code = 'error' in error ? String(out?.error) : error.name;
  noteReason(context, error);
  if (rejectedForms.has(out?.error_description ?? '')) {
    context.status = 403;
  }
  const problem = codeProblems[error.name];
  if (problem === undefined) {
    const text = texts[otherProblem(context, error)];
    showPage(context, problemPage(texts, text, anotherCode(texts)));
    return;
  }
  // The library replies to a wrong code with 200.
  context.status = 422;
  const typed = 'userCode' in error ? error.userCode : undefined;
  showForm(context, texts[problem], typeof typed === 'string' ? typed : '');
}

function showForm(
  context: KoaContextWithOIDC,
  problem: string | undefined,
  userCode: string,
): void {
  const texts = textsFor(context);
  const lead =
    userCode === '' || problem !== undefined ? texts.deviceLead : texts.deviceLeadPrefilled;
  const described = problem === undefined ? 'hint' : 'problem hint';
  const content = html`<p class="lead">${lead}</p>
${problemNotice(problem)}
<form method="post" action="${providerRoutes.code_verification}">
${xsrfField(context.oidc.session)}
<label for="user_code">${texts.userCode}</label>
<input class="code" id="user_code" name="user_code" type="text" autocomplete="off" autocapitalize="characters" autocorrect="off" spellcheck="false" translate="no" required maxlength="32" value="${userCode}" aria-describedby="${described}"${problem === undefined ? undefined : html` aria-invalid="true"`} autofocus>
<p class="hint" id="hint">${texts.userCodeHint}</p>
<button class="primary" type="submit">${texts.continue}</button>
</form>`;
  showPage(context, { texts, title: texts.connectDevice, content });
}

/**
 * RFC 8628 §5.4: an attacker can send a code to a user, so the user compares it with the device.
 * The consent page lists the scopes, and this page those of an application without one, because the
 * operator trusts it.
 */
async function showConfirmation(
  context: KoaContextWithOIDC,
  clientId: string,
  userCode: string,
  { clients }: Identity,
): Promise<void> {
  const client = await clients.find(clientId);
  const texts = textsFor(context);
  const name = html`<strong>${foreignName(client?.name ?? '')}</strong>`;
  // They were validated, or set if missing, when the code was created.
  const { scope = '' } = context.oidc.entities.DeviceCode?.params ?? {};
  const scopes = client?.firstParty === true ? String(scope).split(' ').filter(Boolean) : [];
  const request =
    scopes.length === 0
      ? html`<p>${sentence(texts.deviceAsks, { client: name })}</p>`
      : html`<p class="before-list">${sentence(texts.deviceGets, { client: name })}</p>
${scopeList(scopes, texts, settingsOf(context))}`;
  const content = html`<p class="lead">${texts.deviceConfirmLead}</p>
<p class="code" translate="no"><output>${userCode}</output></p>
${request}
<p class="warning">${texts.deviceWarning}</p>
<form method="post" action="${providerRoutes.code_verification}">
${xsrfField(context.oidc.session)}
<input type="hidden" name="user_code" value="${userCode}">
<button class="primary" type="submit" name="confirm" value="yes">${texts.deviceConfirm}</button>
<button type="submit" name="abort" value="yes">${texts.deviceCancel}</button>
</form>
<p class="small"><span translate="no">${fill(texts.applicationId, { clientId })}</span></p>`;
  showPage(context, { texts, title: texts.deviceConfirmTitle, content });
}

/** What went wrong where the form itself would not help. */
function problemPage(texts: Texts, problem: string, next: Html): Page {
  const content = html`${problemNotice(problem)}
${next}`;
  return { texts, title: texts.connectDevice, content };
}

function anotherCode(texts: Texts): Html {
  return linkButton(providerRoutes.code_verification, texts.deviceAnother);
}

function otherProblem(context: KoaContextWithOIDC, error: Error): TextName {
  if (context.status < 500 && !hasCookies(context.req)) {
    return 'deviceCookiesBlocked';
  }
  return context.status >= 500
    ? messageOf(context.status)
    : (otherProblems[error.name] ?? 'deviceRefused');
}

/** The code in the link from the device. */
function codeOfLink(context: KoaContextWithOIDC): string {
  const { originalUrl } = context.req as { originalUrl?: string };
  const url = URL.parse(originalUrl ?? '', 'http://unused.invalid');
  return url?.searchParams.get('user_code')?.slice(0, 32) ?? '';
}
