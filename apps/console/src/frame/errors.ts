/** The errors outside of a screen: its texts, its status, and its name in the log. */
import { timingSafeEqual } from 'node:crypto';
import type { FailureReasonName } from '@gatehouse/errors';
import { allowedMethods, html, observedRequest } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import type { ErrorRequestHandler, Request, RequestHandler, Router } from 'express';
import { IssuerUnavailableError } from '../session/issuer.ts';
import type { Session } from '../session/sessions.ts';
import { textsFor } from '../view/languages.ts';
import type { SendPage } from './send-page.ts';

/** By the names of their texts. The code is that of the catalogue, unless a reason has the name. */
const problems = {
  notFound: { status: 404, reason: 'not_found' },
  forbidden: { status: 403, reason: 'access_denied' },
  form: { status: 403, reason: 'form_refused' },
  method: { status: 405, reason: 'method_not_allowed' },
  limit: { status: 429, reason: 'request_limit' },
  bad: { status: 400, reason: 'illegal_argument' },
  unavailable: { status: 503, reason: 'store_unavailable' },
  issuer: { status: 503, reason: 'upstream_failed' },
  devices: { status: 503, reason: 'upstream_unreachable' },
  unexpected: { status: 500, reason: 'unexpected_error' },
} as const satisfies Readonly<
  Record<string, { readonly status: number; readonly reason: FailureReasonName }>
>;

type ProblemName = keyof typeof problems;

/** The codes in log and metrics. */
export const problemCodes: readonly string[] = [
  ...Object.values(problems).map(({ reason }) => reason),
  'sign_in_expired',
];

/** A request that gets an error page. */
export class FrameError extends Error {
  override name = 'FrameError';
  readonly problem: ProblemName;

  constructor(problem: ProblemName) {
    super(problem);
    this.problem = problem;
  }
}

/**
 * A form must be one of this session, on a page of the console. Browsers report the site in a header
 * that pages cannot forge. Where a browser omits it, the token protects the form.
 *
 * @throws FrameError `form`
 */
export function assertOwnForm(request: Request, { formToken }: Pick<Session, 'formToken'>): void {
  const site = request.get('sec-fetch-site') ?? 'same-origin';
  const presented: unknown = request.body?.['form-token'];
  const given = Buffer.from(typeof presented === 'string' ? presented : '');
  const expected = Buffer.from(formToken);
  const isOwn = given.length === expected.length && timingSafeEqual(given, expected);
  if (!isOwn || site !== 'same-origin') {
    throw new FrameError('form');
  }
}

/** Every error is a page. The cause goes to the log. */
export function handleErrors(sendPage: SendPage): ErrorRequestHandler {
  return (error, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const name = problemOf(error);
    const { status, reason } = problems[name];
    const { id, notes } = observedRequest(request);
    Object.assign(notes, { code: reason, reason }, status >= 500 && { err: error });
    if (status === 503) {
      response.set('Retry-After', '1');
    }
    const { errors } = textsFor(request);
    const isTransient = status === 503 || status === 429;
    const isRepeatable = isTransient && request.method === 'GET' && request.path !== '/callback';
    const [address, label] = isRepeatable
      ? [request.originalUrl, errors.again]
      : ['/', errors.back];
    const content = html`<p>${errors[name]}</p>
<p class="actions"><a class="button primary" href="${address}">${label}</a></p>
<p class="hint">${errors.reference.replace('{id}', id)}</p>`;
    sendPage({ request, response }, { status, title: errors[`${name}Title`], content });
  };
}

function problemOf(error: unknown): ProblemName {
  if (error instanceof FrameError) {
    return error.problem;
  }
  if (error instanceof IssuerUnavailableError) {
    return 'issuer';
  }
  // A body parser, and a path with invalid percent-encoding, throw errors with a status.
  const { code, reason, status = 500 } = Object(error);
  if (error instanceof StoreUnavailableError || code === 'service_unavailable') {
    return reason === 'upstream_unreachable' ? 'devices' : 'unavailable';
  }
  const known = code === 'not_found' ? 'notFound' : 'bad';
  return status < 500 ? known : 'unexpected';
}

/** The part of a router's layer that lists the methods of a path. */
interface Layer {
  readonly route?: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): boolean;
}

/** RFC 9110 §15.5.6: a path that exists for other methods is 405, and `Allow` names them. */
export function rejectUnknown(router: Pick<Router, 'stack'>): RequestHandler {
  return (request, response) => {
    const methods = (router.stack as unknown as readonly Layer[])
      .filter((layer) => layer.route !== undefined && layer.match(request.path))
      .flatMap((layer) => Object.keys(layer.route?.methods ?? {}));
    if (methods.length === 0) {
      throw new FrameError('notFound');
    }
    const entries = methods.map((method) => ({ method: method.toUpperCase(), path: '' }));
    response.set('Allow', allowedMethods(entries).join(', '));
    throw new FrameError('method');
  };
}
