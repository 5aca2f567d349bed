/**
 * The pages of the device authorization grant (RFC 8628). The user enters the code that the device
 * shows, confirms it, and continues to the ordinary sign-in and consent. The provider owns the flow
 * and calls these functions for markup: /device → confirm → /sign-in/{interaction} →
 * /device/{interaction} → done. A link with the code (`verification_uri_complete`) only fills in
 * the form. provider/adapters/device-codes.ts handles polling and races.
 */

import type { Identity } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { Configuration, ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { rejectedForms } from '../pages/error-page.ts';
import { hasCookies } from '../pages/has-cookies.ts';
import type { Html } from '../pages/html.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import type { Texts } from '../pages/texts.ts';
import { detachDeviceGrant } from '../provider/policy/device-grant.ts';
import { noteReason } from '../provider/reasons/reason-of-error.ts';
import { confirmView } from './confirm-view.ts';
import { connectedView, deviceProblemView, stoppedView } from './outcome-views.ts';
import { userCodeView } from './user-code-view.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

export function deviceFlow({ clients }: Identity): DeviceFlow {
  return {
    enabled: true,
    charset: 'base-20',
    mask: '****-****',
    // Nothing about the device is stored: a device could claim anything about itself.
    deviceInfo: () => ({}),
    userCodeInputSource: (context, _form, out, error) => showInput(context, out, error),
    async userCodeConfirmSource(context, _form, client, _deviceInfo, userCode) {
      const { texts } = pageLanguage(context);
      const registered = await clients.find(client.clientId);
      const content = confirmView(
        {
          clientName: registered?.name ?? '',
          clientId: client.clientId,
          userCode,
          scopesWithoutConsent: registered?.firstParty === true ? deviceScopeOf(context) : [],
          token: formToken(context),
        },
        texts,
      );
      show(context, texts.deviceConfirmTitle, content);
    },
    async successSource(context) {
      detachDeviceGrant(context);
      const { texts } = pageLanguage(context);
      const registered = await clients.find(context.oidc.client?.clientId ?? '');
      show(context, texts.deviceDoneTitle, connectedView(registered?.name ?? '', texts));
    },
  };
}

function showInput(
  context: KoaContextWithOIDC,
  out: ErrorOut | undefined,
  error: Error | undefined,
): void {
  const { texts } = pageLanguage(context);
  if (error?.name === 'AbortedError') {
    show(context, texts.deviceStoppedTitle, stoppedView(texts));
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
  const problem = codeProblem(error, texts);
  if (problem === undefined) {
    show(context, texts.deviceTitle, deviceProblemView(otherProblem(context, error, texts), texts));
    return;
  }
  // The library replies to a wrong code with 200.
  context.status = 422;
  showForm(context, problem, typedCode(error));
}

function showForm(
  context: KoaContextWithOIDC,
  problem: string | undefined,
  userCode: string,
): void {
  const { texts } = pageLanguage(context);
  const token = formToken(context);
  show(context, texts.deviceTitle, userCodeView({ userCode, problem, token }, texts));
}

/** The problem with the code itself, which another code solves. */
function codeProblem(error: Error, texts: Texts): string | undefined {
  const known: Readonly<Record<string, string>> = {
    NoCodeError: texts.deviceNoCode,
    NotFoundError: texts.deviceNotFound,
    ExpiredError: texts.deviceExpired,
    AlreadyUsedError: texts.deviceUsed,
  };
  return known[error.name];
}

function otherProblem(context: KoaContextWithOIDC, error: Error, texts: Texts): string {
  if (context.status < 500 && !hasCookies(context.req)) {
    return texts.deviceCookiesBlocked;
  }
  if (context.status === 503) {
    context.set('Retry-After', '1');
    return texts.unavailable;
  }
  if (context.status >= 500) {
    return texts.unexpected;
  }
  const known: Readonly<Record<string, string>> = {
    InvalidGrant: texts.deviceUsed,
    SessionNotFound: texts.deviceStale,
    InvalidRequest: texts.deviceStale,
  };
  return known[error.name] ?? texts.deviceRefused;
}

function typedCode(error: Error): string {
  const typed = 'userCode' in error ? error.userCode : undefined;
  return typeof typed === 'string' ? typed : '';
}

/** The code in the link from the device. */
function codeOfLink(context: KoaContextWithOIDC): string {
  const { originalUrl } = context.req as { originalUrl?: string };
  const url = URL.parse(originalUrl ?? '', 'http://unused.invalid');
  return url?.searchParams.get('user_code')?.slice(0, 32) ?? '';
}

function formToken(context: KoaContextWithOIDC): string {
  const secret = context.oidc.session?.state?.secret;
  return typeof secret === 'string' ? secret : '';
}

function show(context: KoaContextWithOIDC, title: string, content: Html): void {
  const { language } = pageLanguage(context);
  context.type = 'html';
  context.body = renderPage({ language, title, content });
}

/**
 * The scopes of the device's request. They were validated, or set if missing, when the code was
 * created.
 */
function deviceScopeOf({ oidc }: KoaContextWithOIDC): readonly string[] {
  const scope = oidc.entities.DeviceCode?.params?.scope;
  return typeof scope === 'string' ? scope.split(' ').filter((each) => each !== '') : [];
}
