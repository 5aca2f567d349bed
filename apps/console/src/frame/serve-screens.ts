/**
 * The routes of the screens: GET a screen, GET what an act would destroy, POST an act.
 *
 *   session ─▶ scope ─▶ form token, Sec-Fetch-Site ─▶ recent sign-in, if it destroys ─▶ fields ─▶ act
 */
import { ApiError } from '@gatehouse/errors';
import { type Operators, parseInput } from '@gatehouse/operators';
import { expressAddress, html, observedRequest } from '@gatehouse/server';
import type { Express, Request, RequestHandler } from 'express';
import { z } from 'zod';
import type { Cookies } from '../session/cookies.ts';
import { pathTo } from '../view/addresses.ts';
import { type Attempt, problemNotice } from '../view/forms.ts';
import { textsFor } from '../view/languages.ts';
import { assertOwnForm, FrameError } from './errors.ts';
import type { Act, Outcome, Screen, Visit } from './screen.ts';
import { noteOperation, type SendPage } from './send-page.ts';
import type { OpenedExchange, SignIn } from './sign-in.ts';

interface Dependencies {
  readonly operators: Operators;
  readonly signIn: SignIn;
  readonly cookies: Cookies;
  readonly sendPage: SendPage;
  readonly issuer: string;
  readonly explorerUrl?: string | undefined;
  readonly now: () => number;
}

/** A cookie keeps the address that opens after the sign-in. */
const MAXIMUM_NEXT_CHARACTERS = 1500;

/** Errors of an act that the operator can correct. */
const correctable: readonly string[] = [
  ...['illegal_argument', 'duplicate_key', 'conflict', 'precondition_failed'],
];

export function addScreens(
  app: Express,
  screens: readonly Screen[],
  form: RequestHandler,
  dependencies: Dependencies,
): void {
  const { withSession } = dependencies.signIn;
  for (const screen of screens) {
    const show = withSession((exchange) =>
      sendScreen(screen, visitOf(screen, exchange, dependencies), exchange, dependencies),
    );
    app.get(screen.path, noteOperation(screen.path), show);
    for (const [name, act] of Object.entries(screen.acts ?? {})) {
      const path = `${screen.path}/${name}`;
      const acting = { screen, name, act };
      const run = withSession((exchange) => perform(acting, exchange, dependencies));
      app.post(path, noteOperation(path), form, run);
      if (act.preview !== undefined) {
        const ask = withSession((exchange) => askToConfirm(acting, exchange, dependencies));
        app.get(path, noteOperation(path), ask);
      }
    }
  }
}

/** The names in log and metrics. A path could hold an id. */
export function operationsOf(screens: readonly Screen[]): readonly string[] {
  return screens.flatMap(({ path, acts = {} }) => [
    path,
    ...Object.keys(acts).map((name) => `${path}/${name}`),
  ]);
}

interface Acting {
  readonly screen: Screen;
  readonly name: string;
  readonly act: Act;
}

/** @throws FrameError `notFound` */
async function sendScreen(
  screen: Screen,
  plain: Visit,
  exchange: OpenedExchange,
  { sendPage }: Dependencies,
): Promise<void> {
  if (screen.needsWrite) {
    assertMayWrite(exchange);
  }
  const visit = { ...plain, query: acceptedQuery(screen.query ?? z.object({}), plain.search) };
  const data = await screen.load(visit);
  if (data === undefined) {
    throw new FrameError('notFound');
  }
  const { attempt } = visit;
  // The form of this act was on a page of its own.
  const hasOwnPage = attempt && screen.acts?.[attempt.act]?.preview !== undefined;
  sendPage(exchange, {
    status: attempt === undefined ? 200 : 422,
    title: screen.title(data, visit),
    trail: screen.trail?.(data, visit) ?? [],
    tools: screen.tools?.(data, visit),
    content: html`${hasOwnPage ? problemNotice(attempt) : undefined}${screen.view(data, visit)}`,
  });
}

/** Omits each parameter that the schema rejects. Empty fields of a filter count as absent. */
function acceptedQuery(schema: z.ZodType, search: URLSearchParams): unknown {
  const given = [...search].filter(([, value]) => value !== '');
  const { error } = schema.safeParse(Object.fromEntries(given));
  const rejected = new Set(error?.issues.map(({ path }) => path[0]));
  return schema.parse(Object.fromEntries(given.filter(([name]) => !rejected.has(name))));
}

function visitOf(
  screen: Screen,
  { request, session }: OpenedExchange,
  { operators, issuer, explorerUrl, now }: Dependencies,
): Visit {
  const { userId, sessionId, scopes } = session.access;
  const parameters = request.params as Readonly<Record<string, string>>;
  return {
    ...{ operators, issuer, explorerUrl, parameters, query: {}, now: now() },
    operator: {
      ...{ actor: 'console', operator: userId, session: sessionId },
      address: expressAddress(request),
      requestId: observedRequest(request).id,
    },
    texts: textsFor(request),
    path: pathTo(screen.path, parameters),
    search: new URLSearchParams(request.originalUrl.split(/\?(.*)/s)[1]),
    mayWrite: scopes.has('operator:write'),
    formToken: session.formToken,
  };
}

/** @throws FrameError `forbidden` */
function assertMayWrite({ session }: OpenedExchange): void {
  if (!session.access.scopes.has('operator:write')) {
    throw new FrameError('forbidden');
  }
}

/** The page that names what the act destroys. Its form sends the fields of its URL. */
async function askToConfirm(
  { screen, name, act }: Acting,
  exchange: OpenedExchange,
  dependencies: Dependencies,
): Promise<void> {
  const { signIn, sendPage } = dependencies;
  const { request, session } = exchange;
  assertMayWrite(exchange);
  if (!signIn.isFresh(session)) {
    signIn.sendConfirmIdentity(exchange, request.originalUrl);
    return;
  }
  const visit = visitOf(screen, exchange, dependencies);
  const values = Object.fromEntries(visit.search);
  const fields = act.fields.safeParse(values);
  if (!fields.success || act.preview === undefined || act.confirm === undefined) {
    throw new FrameError('bad');
  }
  const { title, effect, button } = act.confirm(await act.preview(fields.data, visit), visit);
  const hidden = Object.entries({ ...values, 'form-token': session.formToken }).map(
    ([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`,
  );
  const content = html`<section class="card confirm">
${effect}
<form method="post" action="${visit.path}/${name}">${hidden}
<p class="actions"><button type="submit" class="danger">${button}</button>
<a class="button" href="${visit.path}">${visit.texts.frame.cancel}</a></p>
</form>
</section>`;
  sendPage(exchange, { title, content });
}

async function perform(
  { screen, name, act }: Acting,
  exchange: OpenedExchange,
  dependencies: Dependencies,
): Promise<void> {
  const { signIn, sendPage, cookies } = dependencies;
  const { request, response, session } = exchange;
  assertMayWrite(exchange);
  assertOwnForm(request, session);
  const { 'form-token': _token, ...values } = typedValues(request);
  if (act.preview !== undefined && !signIn.isFresh(session)) {
    // The confirmation page had the fields in its address, unless they are long.
    const search = String(new URLSearchParams(values));
    const isShort = search.length <= MAXIMUM_NEXT_CHARACTERS;
    const next = isShort ? `${request.path}?${search}` : request.path.slice(0, -name.length - 1);
    signIn.sendConfirmIdentity(exchange, next);
    return;
  }
  const visit = visitOf(screen, exchange, dependencies);
  const outcome = await attempt(act, values, visit);
  if ('problems' in outcome) {
    const rejected = { ...visit, attempt: { act: name, values, ...outcome } };
    await sendScreen(screen, rejected, exchange, dependencies);
  } else if ('content' in outcome) {
    sendPage(exchange, outcome);
  } else {
    if (outcome.notice !== undefined) {
      cookies.writeNotice(response, outcome.notice);
    }
    response.redirect(303, outcome.to ?? visit.path);
  }
}

async function attempt(
  { fields, run }: Act,
  values: object,
  visit: Visit,
): Promise<Outcome | Pick<Attempt, 'message' | 'problems'>> {
  try {
    return await run(parseInput(fields, values), visit);
  } catch (thrown) {
    if (thrown instanceof ApiError && correctable.includes(thrown.code)) {
      const problems = Array.isArray(thrown.result) ? thrown.result : [];
      return { message: thrown.message, problems };
    }
    throw thrown;
  }
}

/** Repeated fields become a list with commas. */
function typedValues({ body }: Request): Readonly<Record<string, string>> {
  const entries = Object.entries<unknown>(Object(body));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}
