/**
 * The stages of a request. Each stage returns a reply or throws an ApiError. One place turns errors
 * into replies, and every reply is sealed and written in the same way.
 *
 *   assert-servable → target → (preflight, public document)
 *     → admit: match → address limit → authenticate → client limit
 *     → authorize → forward, or a local operation → seal → write
 *
 * handle-upgrade uses the same stages up to authorize.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ApiError } from '@gatehouse/api-envelope';
import { type AddressMatcher, observedRequest } from '@gatehouse/http-server';
import { parseRequestTarget, type RequestTarget } from '@gatehouse/request-reading';
import { StoreUnavailableError } from '@gatehouse/store';
import type { AuditFailure } from '../audit/signature-audit.ts';
import type { CrossOrigin } from '../cross-origin/cross-origin.ts';
import type { Forwarder } from '../forwarding/forward.ts';
import { sent } from '../http/header-names.ts';
import { failureReply, type Reply } from '../http/reply.ts';
import type { ProtectedResource } from '../public-documents/protected-resource.ts';
import { addLimitHeaders } from '../rate-limits/limit-headers.ts';
import type { RouteMatch } from '../routes/route-table.ts';
import type { SealReply } from '../sealing/seal-reply.ts';
import {
  type AdmissionDependencies,
  admit,
  countFailure,
  createRequestState,
  type RequestState,
} from './admit.ts';
import { assertServable } from './assert-servable.ts';
import { authorize } from './authorize.ts';
import { noteFailure, toFailure, withChallenge } from './failure.ts';
import type { LocalOperation } from './local-operation.ts';
import { writeReply } from './write-reply.ts';

export interface PipelineDependencies extends AdmissionDependencies {
  readonly forward: Forwarder;
  /** By the name of the operation. */
  readonly localOperations: ReadonlyMap<string, LocalOperation>;
  readonly protectedResource: ProtectedResource;
  readonly crossOrigin: CrossOrigin;
  readonly isTrustedProxy: AddressMatcher;
  readonly sealReply: SealReply;
  readonly auditFailure: AuditFailure;
  readonly now: () => number;
}

export function createRequestHandler(dependencies: PipelineDependencies): RequestListener {
  return (message, response) => {
    const { notes } = observedRequest(message);
    const state = createRequestState(message, notes, dependencies.isTrustedProxy);
    handle(state, response, dependencies).catch((err: unknown) => {
      notes.err = err;
      response.destroy();
    });
  };
}

async function handle(
  state: RequestState,
  response: ServerResponse,
  dependencies: PipelineDependencies,
): Promise<void> {
  const { message } = state;
  let reply: Reply;
  try {
    reply = await answer(state, response, dependencies);
  } catch (thrown) {
    reply = await refuse(thrown, state, response, dependencies);
  }
  const signer = state.verified?.signer;
  if (signer !== undefined) {
    reply = await dependencies.sealReply(reply, signer).catch(async (thrown: unknown) => {
      const refusal = await refuse(thrown, state, response, dependencies);
      // Without the store, a second claim would only delay the unsigned 503.
      return thrown instanceof StoreUnavailableError
        ? refusal
        : dependencies.sealReply(refusal, signer).catch(() => refusal);
    });
  }
  const { headers } = reply;
  headers.push(sent.requestId, observedRequest(message).id);
  addLimitHeaders(headers, state.appliedLimits, dependencies.now());
  const { origin } = message.headers;
  if (origin !== undefined) {
    const clientId = state.verified?.principal.clientId;
    headers.push(...(await dependencies.crossOrigin.replyHeaders(origin, clientId)));
  }
  writeReply(reply, message, response);
}

async function answer(
  state: RequestState,
  response: ServerResponse,
  dependencies: PipelineDependencies,
): Promise<Reply> {
  const { message } = state;
  assertServable(message);
  const target = dependencies.routes.withoutExtraSlash(parseRequestTarget(message.url ?? ''));
  const open = answerPublic(state, target, dependencies);
  if (open !== undefined) {
    const reply = await open;
    if (reply !== undefined) {
      return reply;
    }
  }
  const { verified, match } = await admit(state, target, dependencies);
  const route = match?.route;
  if (route === undefined) {
    return answerUnrouted(message, match);
  }
  authorize(verified, route);
  if (route.upstream !== undefined) {
    return dependencies.forward({
      message,
      response,
      observed: observedRequest(message),
      route,
      upstream: route.upstream,
      verified,
      path: target.path,
      clientAddress: state.clientAddress,
    });
  }
  const operation = dependencies.localOperations.get(route.operation);
  if (operation === undefined) {
    throw new Error(`The route ${route.operation} has neither an upstream nor a local operation.`);
  }
  return operation({ message, verified, clientAddress: state.clientAddress });
}

/** Answers requests that need no credential: preflights (Fetch §4.8) and the resource metadata. */
function answerPublic(
  state: RequestState,
  target: RequestTarget,
  { protectedResource, crossOrigin, limits }: PipelineDependencies,
): Promise<Reply | undefined> | undefined {
  const { message, notes, clientAddress, appliedLimits } = state;
  const answerAs = async (operation: string, reply: Reply | undefined) => {
    if (reply !== undefined) {
      notes.operation = operation;
      await limits.countAddress(clientAddress, false, appliedLimits);
    }
    return reply;
  };
  const document = protectedResource.answer(message.method ?? '', target.path);
  if (document !== undefined) {
    return answerAs('protected-resource', document);
  }
  return message.method === 'OPTIONS'
    ? crossOrigin.answerPreflight(message).then((reply) => answerAs('preflight', reply))
    : undefined;
}

/** Runs only after authentication, so that unauthenticated callers cannot discover routes. */
function answerUnrouted({ method }: IncomingMessage, match: RouteMatch): Reply {
  if (match === undefined || match.route !== undefined) {
    throw new ApiError('not_found', {
      message: 'There is no such operation.',
      reason: 'operation_unknown',
    });
  }
  const allow = [...match.allow, 'OPTIONS'].join(', ');
  if (method !== 'OPTIONS') {
    throw new ApiError('method_not_allowed', {
      headers: { [sent.allow]: allow },
      finding: `The path accepts ${allow}.`,
    });
  }
  return { status: 204, headers: [sent.allow, allow], body: undefined };
}

async function refuse(
  thrown: unknown,
  state: RequestState,
  response: ServerResponse,
  { limits, protectedResource, auditFailure, now }: PipelineDependencies,
): Promise<Reply> {
  const error = await countFailure(toFailure(thrown), state, limits).catch(toFailure);
  noteFailure(error, state.notes, response.destroyed);
  auditFailure(error, state);
  const reply = failureReply(withChallenge(error, protectedResource.metadataUrl), now());
  return state.message.method === 'HEAD' ? { ...reply, body: undefined } : reply;
}
