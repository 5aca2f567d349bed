/**
 * The stages of a request. Each stage returns a reply or throws an ApiError. One place turns errors
 * into replies, and every reply is sealed and written in the same way.
 *
 *   assert-servable → target → (preflight, public document, explorer) → match
 *     → admit: address limit → authenticate → client limit
 *     → authorize → forward, or a local operation → seal → write
 *
 * handle-upgrade and answer-verification use the same stages up to authorize.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type AddressMatcher, observedRequest } from '@gatehouse/server';
import { parseRequestTarget, type RequestTarget } from '@gatehouse/signing';
import { StoreFullError, StoreUnavailableError } from '@gatehouse/store';
import type { AuditFailure } from '../audit/signature-audit.ts';
import type { CrossOrigin } from '../cross-origin/cross-origin.ts';
import type { Explorer } from '../explorer/explorer.ts';
import type { ForwardAuth } from '../forward-auth/forward-auth.ts';
import type { Forwarder } from '../forwarding/forward.ts';
import { sent } from '../http/header-names.ts';
import { failureReply, type Reply } from '../http/reply.ts';
import type { PublicDocuments } from '../public-documents/public-documents.ts';
import { addLimitHeaders } from '../rate-limits/limit-headers.ts';
import type { RouteMatch } from '../routes/route-table.ts';
import { isClaimed, type SealReply } from '../sealing/seal-reply.ts';
import {
  type AdmissionDependencies,
  admit,
  countFailure,
  createRequestState,
  type RequestState,
} from './admit.ts';
import { answerVerification } from './answer-verification.ts';
import { assertServable } from './assert-servable.ts';
import { authorize } from './authorize.ts';
import { noteFailure, toFailure, withChallenge } from './failure.ts';
import type { LocalOperation } from './local-operation.ts';
import { allowedMethods, unrouted } from './unrouted.ts';
import { writeReply } from './write-reply.ts';

export interface PipelineDependencies extends AdmissionDependencies {
  readonly forward: Forwarder;
  /** Undefined: `/_verify` is a path like any other. */
  readonly forwardAuth: ForwardAuth | undefined;
  /** By the name of the operation. */
  readonly localOperations: ReadonlyMap<string, LocalOperation>;
  readonly publicDocuments: PublicDocuments;
  /** The URL of the resource metadata, for challenges. */
  readonly metadataUrl: string;
  /** Undefined: `/explorer` is a path like any other. */
  readonly explorer: Explorer | undefined;
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
    const { forwardAuth } = dependencies;
    const handling = forwardAuth?.isVerification(message)
      ? handleVerification(state, response, forwardAuth, dependencies)
      : handle(state, response, dependencies);
    handling.catch((err: unknown) => {
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
  const reply = await answer(state, response, dependencies).catch((thrown: unknown) =>
    refuse(thrown, state, response, dependencies),
  );
  await complete(await seal(reply, state, response, dependencies), state, response, dependencies);
}

async function seal(
  reply: Reply,
  state: RequestState,
  response: ServerResponse,
  dependencies: PipelineDependencies,
): Promise<Reply> {
  const signer = state.verified?.signer;
  if (signer === undefined || (state.storeFailed && isClaimed(signer))) {
    return reply;
  }
  try {
    return await dependencies.sealReply(reply, signer);
  } catch (thrown) {
    const refusal = await refuse(thrown, state, response, dependencies);
    // If the store is unavailable or full, a second claim would fail, too.
    return thrown instanceof StoreUnavailableError
      ? refusal
      : dependencies.sealReply(refusal, signer).catch(() => refusal);
  }
}

/** Replies to a proxy. The reply is not sealed, because no client receives it. */
async function handleVerification(
  state: RequestState,
  response: ServerResponse,
  forwardAuth: ForwardAuth,
  dependencies: PipelineDependencies,
): Promise<void> {
  let reply: Reply;
  try {
    reply = await answerVerification(state, forwardAuth, dependencies);
  } catch (thrown) {
    reply = await refuse(thrown, state, response, dependencies);
    // nginx and HAProxy read no body, so they learn the code from a header.
    reply.headers.push(sent.authError, state.notes.code ?? '');
  }
  await complete(reply, state, response, dependencies);
}

/** Adds the headers of every reply, and writes it. */
async function complete(
  reply: Reply,
  { message, verified, appliedLimits, storeFailed }: RequestState,
  response: ServerResponse,
  dependencies: PipelineDependencies,
): Promise<void> {
  const { headers } = reply;
  headers.push(sent.requestId, observedRequest(message).id);
  addLimitHeaders(headers, appliedLimits, dependencies.now());
  const { origin } = message.headers;
  if (origin !== undefined) {
    const clientId = verified?.principal.clientId;
    headers.push(
      ...(storeFailed
        ? [sent.vary, 'Origin']
        : await dependencies.crossOrigin.replyHeaders(origin, clientId)),
    );
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
  const { method = '' } = message;
  const match = dependencies.routes.match(method, target);
  const verified = await admit(state, { method, target, match }, dependencies);
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

/** Answers requests that need no credential: preflights (Fetch §4.8), public documents, the explorer. */
function answerPublic(
  state: RequestState,
  target: RequestTarget,
  { publicDocuments, explorer, crossOrigin, limits }: PipelineDependencies,
): Promise<Reply | undefined> | undefined {
  const { message, notes, clientAddress, appliedLimits } = state;
  const countPreflight = async (reply: Reply | undefined) => {
    if (reply !== undefined) {
      notes.operation = 'preflight';
      await limits.countAddress(clientAddress, false, appliedLimits);
    }
    return reply;
  };
  const document =
    publicDocuments.answer(message, target.path) ??
    explorer?.answer(message.method ?? '', target.path);
  if (document !== undefined) {
    notes.operation = document.operation;
    // The documents need no store. While it cannot count requests, they are served without a limit.
    return limits
      .countAddress(clientAddress, false, appliedLimits)
      .catch(ignoreUnavailableStore)
      .then(document.read);
  }
  return message.method === 'OPTIONS'
    ? crossOrigin.answerPreflight(message).then(countPreflight)
    : undefined;
}

function ignoreUnavailableStore(error: unknown): void {
  if (!(error instanceof StoreUnavailableError)) {
    throw error;
  }
}

/** Runs only after authentication, so that unauthenticated callers cannot discover routes. */
function answerUnrouted({ method }: IncomingMessage, match: RouteMatch): Reply {
  if (match === undefined || match.route !== undefined || method !== 'OPTIONS') {
    throw unrouted(match);
  }
  return { status: 204, headers: [sent.allow, allowedMethods(match.allow)], body: undefined };
}

async function refuse(
  thrown: unknown,
  state: RequestState,
  response: ServerResponse,
  { limits, metadataUrl, auditFailure, now }: PipelineDependencies,
): Promise<Reply> {
  const noteAndConvert = (error: unknown) => {
    const isFull = error instanceof StoreFullError;
    state.storeFailed ||= error instanceof StoreUnavailableError && !isFull;
    return toFailure(error);
  };
  const error = await countFailure(noteAndConvert(thrown), state, limits).catch(noteAndConvert);
  noteFailure(error, state.notes, response.destroyed);
  auditFailure(error, state);
  const reply = failureReply(withChallenge(error, metadataUrl), now());
  return state.message.method === 'HEAD' ? { ...reply, body: undefined } : reply;
}
