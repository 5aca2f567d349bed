/**
 * The pages between /authorize or /device and its reply. The provider redirects the browser to
 * /sign-in/{interaction}. A form identifies the user or records the user's decision, and the
 * provider continues from there. The cookie identifies the interaction, never the address alone.
 * The forms carry only what the user typed or pressed, so there is nothing in them to alter. The
 * protocol's own checks are the provider's.
 */
import type { Identity } from '@gatehouse/identity';
import { type Html, observedRequest } from '@gatehouse/server';
import type { Request, RequestHandler, Response } from 'express';
import { type AdapterPayload, errors, type Provider } from 'oidc-provider';
import type { PasskeyCeremonies } from '../account/passkey-ceremony.ts';
import {
  helpNotice,
  homeOf,
  InteractionGoneError,
  type NextStep,
  type PageError,
  sendErrorPage,
} from '../pages/error-page.ts';
import {
  type CsrfTokens,
  csrfField,
  formField,
  formTargetsOf,
  type Page,
  sendPage,
  textsFor,
} from '../pages/page.ts';
import type { BrowserState } from '../provider/browser-state.ts';
import { ACCOUNT_CLIENT_ID } from '../provider/clients.ts';
import { OMITTED } from '../provider/request-parameters.ts';
import { contextOf } from '../requests/request-context.ts';
import { providerRoutes } from '../requests/routes.ts';
import type { DeviceCookies } from '../throttle/device-cookie.ts';
import type { Limits } from '../throttle/limits.ts';
import type { SignIn } from '../throttle/sign-in-throttle.ts';
import type { UpstreamRoundTrips } from '../upstream/round-trips.ts';

export interface SignInDependencies {
  readonly provider: Provider;
  readonly identity: Identity;
  readonly csrfTokens: CsrfTokens;
  readonly signIn: SignIn;
  readonly passkeyCeremonies: PasskeyCeremonies;
  readonly deviceCookies: DeviceCookies;
  readonly roundTrips: UpstreamRoundTrips;
  readonly browserState: Pick<BrowserState, 'interactions' | 'failedSignIns' | 'proofs'>;
  /** Undefined without a mail server. */
  readonly mails: Identity['mails'] | undefined;
  readonly limits: Pick<Limits, 'mails'>;
}

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** A request for a page of an interaction, or of its form. */
export interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly interaction: Interaction;
  readonly dependencies: SignInDependencies;
}

type Opening = Omit<Exchange, 'interaction'>;

/** A page of an interaction: what it shows, and the token for its form. */
export type InteractionPage = Awaited<ReturnType<typeof openPage>>;

/** The address must match the cookie, so that a link from one browser opens nothing in another. */
export async function findInteraction({
  request,
  response,
  dependencies: { provider, browserState },
}: Opening): Promise<Interaction> {
  const uid = String(request.params.interaction);
  const interaction = await provider.interactionDetails(request, response).catch((error) => {
    const record = browserState.interactions.read(uid);
    throw error instanceof errors.SessionNotFound && record !== undefined
      ? interactionGone(JSON.parse(record))
      : error;
  });
  if (interaction.uid !== uid) {
    observedRequest(request).notes.reason = 'sign_in_expired';
    throw new errors.SessionNotFound('another interaction');
  }
  const clientId = interaction.params.client_id;
  observedRequest(request).notes.clientId = String(clientId);
  return interaction;
}

export async function openPage({ request, response, dependencies }: Opening) {
  const { identity, csrfTokens } = dependencies;
  const interaction = await findInteraction({ request, response, dependencies });
  const { params, uid } = interaction;
  const texts = textsFor(request, params.ui_locales, uid);
  const formTargets = formTargetsOf(params.redirect_uri);
  const client = await identity.clients.find(String(params.client_id));
  contextOf(request).orgId = client?.orgId ?? '';
  return {
    interaction,
    client,
    texts,
    csrf: csrfField(csrfTokens.issue(uid)),
    help: helpNotice(request, texts),
    send: (title: string, content: Html, more: Pick<Page, 'heading' | 'scripts'> = {}) =>
      sendPage(response, { texts, title, content, formTargets, ...more }),
  };
}

/** A form of an interaction. Without the token of its page, it is rejected. */
export function interactionForm(
  dependencies: SignInDependencies,
  handle: (exchange: Exchange) => Promise<void>,
  accepts: (interaction: Interaction) => boolean = () => true,
): RequestHandler {
  return async (request, response) => {
    const interaction = await findInteraction({ request, response, dependencies });
    const token = formField(request, 'csrf');
    if (accepts(interaction) && dependencies.csrfTokens.verify(interaction.uid, token)) {
      await handle({ request, response, interaction, dependencies });
    } else {
      sendErrorPage(request, response, 403, 'formRefused');
    }
  };
}

/** Where the user signs in, for the throttle and the audit trail. */
export function signInPlace({ deviceCode, params }: Interaction) {
  const method = deviceCode === undefined ? 'page' : 'device_code';
  return { method, clientId: String(params.client_id) } as const;
}

/** What the throttle needs to know of every attempt. */
export async function attemptOf({ request, response, interaction, dependencies }: Exchange) {
  const device = await dependencies.deviceCookies.read(request, response);
  return { ...signInPlace(interaction), device, request };
}

const gone = (message: PageError, next: NextStep | undefined) =>
  new InteractionGoneError((request, response) =>
    sendErrorPage(request, response, 400, message, next),
  );

/** Why the record in the cookie of a browser opens no page, and where its user continues. */
function interactionGone(record: AdapterPayload): Error {
  if (record.completed === true) {
    // What Back shows after a sign-in.
    const address = applicationAddress(record);
    return gone(
      'signInCompleted',
      address === undefined ? undefined : { address, label: 'continue' },
    );
  }
  const address = startAddress(record);
  if (address === undefined) {
    return new errors.SessionNotFound('the interaction has expired');
  }
  if ((record.exp ?? 0) * 1000 <= Date.now()) {
    return new InteractionGoneError((_request, response) => response.redirect(303, address));
  }
  // An operator revoked everything.
  return gone('signInStartAgain', { address, label: 'startAgain' });
}

/** The home page of the application. */
function applicationAddress({ params }: AdapterPayload): string | undefined {
  if (params?.client_id === ACCOUNT_CLIENT_ID) {
    return '/account';
  }
  return homeOf(params?.redirect_uri);
}

/**
 * The address of the request that created this interaction. A pushed request is used up: only the
 * application can push it again.
 */
function startAddress(interaction: AdapterPayload): string | undefined {
  if (interaction.deviceCode !== undefined) {
    return providerRoutes.code_verification;
  }
  const parameters = new URLSearchParams();
  const { [OMITTED]: omitted, ...params } = interaction.params ?? {};
  for (const [name, value] of Object.entries(params)) {
    if (name !== 'redirect_uri' || omitted === undefined) {
      parameters.set(name, String(value));
    }
  }
  return interaction.parJti === undefined
    ? `${providerRoutes.authorization}?${parameters}`
    : undefined;
}
