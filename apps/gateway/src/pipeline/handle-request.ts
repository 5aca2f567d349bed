/**
 * The life of a request, as one list of stages. Each stage answers or throws an ApiError; whatever was
 * thrown becomes a reply in one place, and every reply is sealed and written the same way.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ApiError, serviceUnavailable, toApiError } from '@gatehouse/api-envelope';
import { observedRequest, type RequestNotes } from '@gatehouse/http-server';
import { StoreUnavailable } from '@gatehouse/store';
import { type AddressMatcher, clientAddress } from '../authentication/address.ts';
import { type Authenticator, authenticate, type Caller } from '../authentication/authenticator.ts';
import { bearerChallenge } from '../authentication/challenge.ts';
import { presentedCredentials } from '../authentication/presented-credentials.ts';
import type { Forwarder } from '../forwarding/forward.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../routes/device-routes.ts';
import { assertReadableQuery, parseRequestTarget } from '../routes/request-target.ts';
import type { Route } from '../routes/route.ts';
import type { RouteMatch, RouteTable } from '../routes/route-table.ts';
import { sealReply } from '../sealing/seal-reply.ts';
import { authorize } from './authorize.ts';
import { refuseEarly } from './refuse-early.ts';
import { failureReply, type Reply } from './reply.ts';
import { writeReply } from './write-reply.ts';

export interface PipelineDependencies {
  readonly routes: RouteTable;
  readonly authenticators: readonly Authenticator[];
  readonly forward: Forwarder;
  readonly isTrustedProxy: AddressMatcher;
  readonly now: () => number;
  readonly signedReplyLimitBytes: number;
}

export function createRequestHandler(dependencies: PipelineDependencies): RequestListener {
  return (request, response) => {
    handle(request, response, dependencies).catch((err: unknown) => {
      observedRequest(request).notes.err = err;
      response.destroy();
    });
  };
}

async function handle(
  message: IncomingMessage,
  response: ServerResponse,
  dependencies: PipelineDependencies,
): Promise<void> {
  const { now, signedReplyLimitBytes: limitBytes } = dependencies;
  const { id: requestId, notes } = observedRequest(message);
  const isHead = message.method === 'HEAD';
  let caller: Caller | undefined;
  let reply: Reply;
  try {
    refuseEarly(message);
    const target = parseRequestTarget(message.url ?? '');
    const credentials = presentedCredentials(message, target.query);
    if (credentials.signature === undefined) {
      assertReadableQuery(target.query);
    }
    const match = dependencies.routes.match(message.method ?? '', target.segments);
    notes.operation = match?.route?.operation ?? 'unmatched';
    const address = clientAddress(message, dependencies.isTrustedProxy);
    const bodyLimitBytes = match?.route?.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES;
    caller = await authenticate(
      { message, target, credentials, clientAddress: address, bodyLimitBytes },
      dependencies.authenticators,
    );
    noteCaller(notes, caller);
    const route = assertRoute(match);
    authorize(caller, route);
    reply = await dependencies.forward({
      ...{ message, response, requestId, route, caller },
      ...{ path: target.path, clientAddress: address },
    });
  } catch (thrown) {
    reply = refusal(thrown, { notes, response, isHead, now });
  }
  const signer = caller?.signer;
  reply = await sealReply(reply, signer, { now, limitBytes }).catch((thrown: unknown) =>
    sealReply(refusal(thrown, { notes, response, isHead, now }), signer, { now, limitBytes }),
  );
  await writeReply(reply, message, response);
}

/** Only after authentication: a stranger does not learn which routes there are. */
function assertRoute(match: RouteMatch): Route {
  if (match === undefined) {
    throw new ApiError('not_found', { message: 'There is no such operation.' });
  }
  if (match.route === undefined) {
    throw new ApiError('method_not_allowed', { headers: { Allow: match.allow.join(', ') } });
  }
  return match.route;
}

function noteCaller(notes: RequestNotes, caller: Caller): void {
  notes.clientId = caller.principal.clientId;
  notes.credential = caller.kind;
}

function refusal(
  thrown: unknown,
  exchange: {
    readonly notes: RequestNotes;
    readonly response: ServerResponse;
    readonly isHead: boolean;
    readonly now: () => number;
  },
): Reply {
  const { notes, response, isHead, now } = exchange;
  const error =
    thrown instanceof StoreUnavailable ? serviceUnavailable(thrown) : toApiError(thrown);
  notes.code = error.code;
  // A caller that left is no fault of ours.
  if (error.status >= 500 && !response.destroyed) {
    notes.err = error.cause ?? error;
  }
  const reply = failureReply(withChallenge(error), now());
  return isHead ? { ...reply, body: undefined } : reply;
}

/** 401 and 403 always say how to authenticate (RFC 9110 §15.5.2). */
function withChallenge(error: ApiError): ApiError {
  const needed = error.status === 401 || error.status === 403;
  return needed && error.headers['WWW-Authenticate'] === undefined
    ? new ApiError(error.code, {
        message: error.message,
        result: error.result,
        headers: { ...bearerChallenge(), ...error.headers },
        cause: error.cause,
      })
    : error;
}
