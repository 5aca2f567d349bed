/**
 * The routes of the screens: GET a screen, GET what an act would destroy, POST an act.
 *
 *   session ─▶ scope ─▶ form token, Sec-Fetch-Site ─▶ recent sign-in, if it destroys ─▶ fields ─▶ act
 */
import { ApiError, type IllegalArgument } from '@gatehouse/errors';
import type { Operators } from '@gatehouse/operators';
import { html, observedRequest } from '@gatehouse/server';
import type { Express, Request, RequestHandler, Response } from 'express';
import type { Cookies } from '../session/cookies.ts';
import type { Session } from '../session/sessions.ts';
import { pathTo } from '../view/addresses.ts';
import { type Attempt, problemNotice } from '../view/forms.ts';
import { textsFor } from '../view/languages.ts';
import { assertOwnForm, FrameError } from './errors.ts';
import type { Act, Outcome, Screen, Visit } from './screen.ts';
import { noteOperation, type SendPage } from './send-page.ts';
import type { SignIn } from './sign-in.ts';

interface Dependencies {
  readonly operators: Operators;
  readonly signIn: SignIn;
  readonly cookies: Cookies;
  readonly sendPage: SendPage;
  readonly issuer: string;
  readonly explorerUrl: string | undefined;
  readonly now: () => number;
}

/** A cookie keeps the address that opens after the sign-in. */
const MAXIMUM_NEXT_CHARACTERS = 1500;

/** Errors of an act that the operator can correct. */
const correctable: readonly string[] = [
  'illegal_argument',
  'duplicate_key',
  'conflict',
  'precondition_failed',
];

export function addScreens(
  app: Express,
  screens: readonly Screen[],
  form: RequestHandler,
  dependencies: Dependencies,
): void {
  const { withSession } = dependencies.signIn;
  for (const screen of screens) {
    app.get(screen.path, noteOperation(screen.path), withSession(showScreen(screen, dependencies)));
    for (const [name, act] of Object.entries(screen.acts)) {
      const path = `${screen.path}/${name}`;
      const acting = { screen, name, act };
      app.post(path, noteOperation(path), form, withSession(perform(acting, dependencies)));
      if (act.confirmation !== undefined) {
        app.get(path, noteOperation(path), withSession(askToConfirm(acting, dependencies)));
      }
    }
  }
}

/** The names in log and metrics. A path could hold an id. */
export function operationsOf(screens: readonly Screen[]): readonly string[] {
  return screens.flatMap(({ path, acts }) => [
    path,
    ...Object.keys(acts).map((name) => `${path}/${name}`),
  ]);
}

type Handler = Parameters<SignIn['withSession']>[0];

interface Acting {
  readonly screen: Screen;
  readonly name: string;
  readonly act: Act;
}

function showScreen(screen: Screen, dependencies: Dependencies): Handler {
  return async (request, response, session) => {
    const visit = visitOf(screen, request, session, dependencies);
    await sendScreen(screen, visit, { request, response, session }, dependencies);
  };
}

interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly session: Session;
}

/** @throws FrameError `notFound` */
async function sendScreen(
  screen: Screen,
  visit: Visit,
  { request, response, session }: Exchange,
  { sendPage }: Dependencies,
): Promise<void> {
  assertMay(screen.requires, session);
  const shown = await screen.show(visit);
  if (shown === undefined) {
    throw new FrameError('notFound');
  }
  const { attempt } = visit;
  if (attempt === undefined) {
    sendPage(request, response, shown, session);
    return;
  }
  // The form of this act was on a page of its own.
  const hasOwnPage = screen.acts[attempt.act]?.confirmation !== undefined;
  const content = html`${hasOwnPage ? problemNotice(attempt) : undefined}${shown.content}`;
  sendPage(request, response, { ...shown, content, status: 422 }, session);
}

function visitOf(
  screen: Screen,
  request: Request,
  session: Session,
  { operators, issuer, explorerUrl, now }: Dependencies,
): Visit {
  const { userId, sessionId, scopes } = session.access;
  const parameters = request.params as Readonly<Record<string, string>>;
  return {
    operators,
    issuer,
    explorerUrl,
    operator: {
      ...{ actor: 'console', operator: userId, session: sessionId },
      address: request.ip?.replace(/^::ffff:(?=\d+\.)/, ''),
      requestId: observedRequest(request).id,
    },
    texts: textsFor(request),
    parameters,
    query: {},
    path: screen.path.includes(':') ? pathTo(screen.path, parameters) : screen.path,
    search: new URLSearchParams(request.originalUrl.split(/\?(.*)/s)[1]),
    mayWrite: scopes.has('operator:write'),
    formToken: session.formToken,
    now: now(),
  };
}

/** @throws FrameError `forbidden` */
function assertMay(scope: Screen['requires'], { access }: Session): void {
  if (!access.scopes.has(scope)) {
    throw new FrameError('forbidden');
  }
}

/** The page that names what the act destroys. Its form sends the fields of its URL. */
function askToConfirm({ screen, name, act }: Acting, dependencies: Dependencies): Handler {
  const { signIn, sendPage } = dependencies;
  return async (request, response, session) => {
    assertMay('operator:write', session);
    if (!signIn.isFresh(session)) {
      signIn.sendConfirmIdentity(request, response, { session, next: request.originalUrl });
      return;
    }
    const visit = visitOf(screen, request, session, dependencies);
    const values = Object.fromEntries(visit.search);
    const fields = act.fields.safeParse(values);
    if (!fields.success || act.confirmation === undefined) {
      throw new FrameError('bad');
    }
    const { title, effect, button } = await act.confirmation(fields.data, visit);
    const { frame } = visit.texts;
    const hidden = Object.entries({ ...values, 'form-token': session.formToken }).map(
      ([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`,
    );
    const content = html`<section class="card confirm">
${effect}
<form method="post" action="${visit.path}/${name}">${hidden}
<p class="actions"><button type="submit" class="danger">${button}</button>
<a class="button" href="${visit.path}">${frame.cancel}</a></p>
</form>
</section>`;
    sendPage(request, response, { title, content }, session);
  };
}

function perform({ screen, name, act }: Acting, dependencies: Dependencies): Handler {
  const { signIn } = dependencies;
  return async (request, response, session) => {
    assertMay('operator:write', session);
    assertOwnForm(request, session);
    const { 'form-token': _token, ...values } = typedValues(request);
    if (act.confirmation !== undefined && !signIn.isFresh(session)) {
      // The confirmation page had the fields in its address, unless they are long.
      const search = String(new URLSearchParams(values));
      const isShort = search.length <= MAXIMUM_NEXT_CHARACTERS;
      const next = isShort ? `${request.path}?${search}` : request.path.slice(0, -name.length - 1);
      signIn.sendConfirmIdentity(request, response, { session, next });
      return;
    }
    const visit = visitOf(screen, request, session, dependencies);
    const fields = act.fields.safeParse(values);
    const result = fields.success
      ? await attempt(() => act.run(fields.data, visit))
      : rejection('', fields.error.issues.map(toProblem));
    if ('problems' in result) {
      const rejected: Visit = { ...visit, attempt: { act: name, values, ...result } };
      await sendScreen(screen, rejected, { request, response, session }, dependencies);
      return;
    }
    sendOutcome(result, visit, { request, response, session }, dependencies);
  };
}

type Rejection = Pick<Attempt, 'message' | 'problems'>;

const rejection = (message: string, problems: readonly IllegalArgument[] = []): Rejection => ({
  message,
  problems,
});

async function attempt(run: () => Promise<Outcome>): Promise<Outcome | Rejection> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ApiError && correctable.includes(error.code)) {
      const problems = Array.isArray(error.result) ? error.result : [];
      return rejection(error.message, problems);
    }
    throw error;
  }
}

function sendOutcome(
  outcome: Outcome,
  { path }: Visit,
  { request, response, session }: Exchange,
  { cookies, sendPage }: Dependencies,
): void {
  if ('content' in outcome) {
    sendPage(request, response, outcome, session);
    return;
  }
  if (outcome.notice !== undefined) {
    cookies.writeNotice(response, outcome.notice);
  }
  response.redirect(303, outcome.to ?? path);
}

/** Repeated fields become a list with commas. */
function typedValues({ body }: Request): Readonly<Record<string, string>> {
  const entries = Object.entries<unknown>(Object(body));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

const toProblem = ({
  path,
  message,
}: {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}): IllegalArgument => ({ property: path.map(String).join('.'), message });
