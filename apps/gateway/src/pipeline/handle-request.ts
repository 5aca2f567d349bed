/**
 * The stages of a request. Each stage returns a reply or throws an ApiError. One place turns errors
 * into replies, and every reply is sealed and written in the same way.
 *
 *   assert-servable → target → router → (preflight, public document)
 *     → admit: address limit → authenticate → client limit
 *     → authorize → forward, or a local operation → seal → write
 *
 * handle-upgrade and answer-verification use the same stages up to authorize.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type AddressMatcher, observedRequest } from '@gatehouse/server';
import { parseRequestTarget } from '@gatehouse/signing';
import { StoreFullError, StoreUnavailableError } from '@gatehouse/store';
import type { AuditFailure } from '../audit/signature-audit.ts';
import type { CrossOrigin } from '../cross-origin/cross-origin.ts';
import type { ForwardAuth } from '../forward-auth/forward-auth.ts';
import type { Forwarder } from '../forwarding/forward.ts';
import { sent } from '../http/header-names.ts';
import { failureReply, type Reply } from '../http/reply.ts';
import { addLimitHeaders } from '../rate-limits/limit-headers.ts';
import {
  findEntry,
  isPublic,
  type PublicEntry,
  type RouteMatch,
  routeOf,
} from '../routes/entries.ts';
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
import { allowHeader, unrouted } from './unrouted.ts';
import { writeReply } from './write-reply.ts';

export interface PipelineDependencies extends AdmissionDependencies {
  readonly forward: Forwarder;
  /** Undefined: `/_verify` is a path like any other. */
  readonly forwardAuth: ForwardAuth | undefined;
  /** By the name of the operation. */
  readonly localOperations: ReadonlyMap<string, LocalOperation>;
  /** The URL of the resource metadata, for challenges. */
  readonly metadataUrl: string;
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
  const { method = '' } = message;
  const requested = parseRequestTarget(message.url ?? '');
  const { match, target } = findEntry(dependencies.router, method, requested);
  const open = answerPublic(state, match, target.path, dependencies);
  if (open !== undefined) {
    const reply = await open;
    if (reply !== undefined) {
      return reply;
    }
  }
  const verified = await admit(state, { method, target, match }, dependencies);
  const route = routeOf(match);
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

/** Answers requests that need no credential: preflights (Fetch §4.8) and public documents. */
function answerPublic(
  state: RequestState,
  match: RouteMatch,
  path: string,
  { crossOrigin, limits }: PipelineDependencies,
): Promise<Reply | undefined> | undefined {
  const { message, notes, clientAddress, appliedLimits } = state;
  if (message.method === 'OPTIONS') {
    return crossOrigin.answerPreflight(message).then(async (reply) => {
      if (reply !== undefined) {
        notes.operation = 'preflight';
        await limits.countAddress(clientAddress, false, appliedLimits);
      }
      return reply;
    });
  }
  if (match?.entry === undefined) {
    // Only the public documents of the path may be disclosed.
    const others = match?.others.filter(isPublic) ?? [];
    if (others.length > 0) {
      throw unrouted({ entry: undefined, others });
    }
    return undefined;
  }
  const { entry } = match;
  return isPublic(entry) ? readDocument(entry, path, state, limits) : undefined;
}

async function readDocument(
  entry: PublicEntry,
  path: string,
  { message, notes, clientAddress, appliedLimits }: RequestState,
  limits: PipelineDependencies['limits'],
): Promise<Reply> {
  notes.operation = entry.operation;
  // The documents need no store. While it cannot count requests, they are served without a limit.
  await limits.countAddress(clientAddress, false, appliedLimits).catch(ignoreUnavailableStore);
  const reply = await entry.read(message, path);
  return message.method === 'HEAD' ? { ...reply, body: undefined } : reply;
}

function ignoreUnavailableStore(error: unknown): void {
  if (!(error instanceof StoreUnavailableError)) {
    throw error;
  }
}

/** Runs only after authentication, so that unauthenticated callers cannot discover routes. */
function answerUnrouted({ method }: IncomingMessage, match: RouteMatch): Reply {
  if (match === undefined || match.entry !== undefined || method !== 'OPTIONS') {
    throw unrouted(match);
  }
  return { status: 204, headers: [sent.allow, allowHeader(match.others)], body: undefined };
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
