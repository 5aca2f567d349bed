/**
 * Every request passes one list of stages. A stage returns a reply, or throws an ApiError, or leaves
 * the request to the next one. `run` turns errors into replies, and each list has its ending:
 *
 *   requests       … authorize → serve           ─▶ sign → write
 *   upgrades       … authorize → open WebSocket  ─▶ connect two sockets, or write the error and close
 *   verifications  … authorize → permit          ─▶ write (another proxy forwards the request)
 */
import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { assertClearMessage, traced, type UpgradeListener } from '@gatehouse/server';
import { parseRequestTarget } from '@gatehouse/signing';
import { StoreUnavailableError } from '@gatehouse/store';
import type { Signer } from '../authentication/verified-request.ts';
import { joinConnections } from '../forwarding/open-reply.ts';
import { type Reply, writeReply } from '../messages.ts';
import { forwardAuthOperation, routeOf } from '../routes/route.ts';
import { createExchange, type Exchange, type Pipeline, type Stage } from './exchange.ts';
import { refuse } from './failure.ts';
import {
  answerBrowser,
  assertForwarded,
  assertSameParameters,
  assertVerifiable,
  isVerification,
  permit,
  readVerification,
} from './forward-auth.ts';
import { addLimitHeaders } from './limits.ts';
import { isClaimed } from './reply-signature.ts';
import {
  admittedOf,
  answerPublic,
  answerUnrouted,
  assertNoUpgrade,
  assertServable,
  authenticate,
  authorize,
  findRoute,
  openWebSocket,
  readCredential,
  serve,
} from './stages.ts';

const requests: readonly Stage[] = [
  assertNoUpgrade,
  assertServable,
  findRoute,
  answerPublic,
  readCredential,
  authenticate,
  answerUnrouted,
  authorize,
  serve,
];

const upgrades: readonly Stage[] = [
  assertServable,
  findRoute,
  readCredential,
  authenticate,
  authorize,
  openWebSocket,
];

/** Nothing replies before authentication: a 204 for a preflight would tell the proxy to forward it. */
const verifications: readonly Stage[] = [
  ({ message }) => void assertClearMessage(message),
  readVerification,
  readCredential,
  answerBrowser,
  assertVerifiable,
  (exchange, pipeline) =>
    exchange.verified === undefined ? authenticate(exchange, pipeline) : undefined,
  assertSameParameters,
  assertForwarded,
  authorize,
  permit,
];

async function run(
  stages: readonly Stage[],
  exchange: Exchange,
  pipeline: Pipeline,
): Promise<Reply> {
  try {
    for (const stage of stages) {
      const result = stage(exchange, pipeline);
      // A stage that does not wait costs no turn of the event loop.
      const reply = result instanceof Promise ? await result : result;
      if (reply !== undefined) {
        return reply;
      }
    }
    throw new Error('No stage replied.');
  } catch (thrown) {
    return refuse(thrown, exchange, pipeline);
  }
}

/** @param observe gives the request its id and log line */
export function createPipeline(
  dependencies: Pipeline,
  observe: (listener: RequestListener) => RequestListener,
): { readonly listener: RequestListener; readonly upgrades: UpgradeListener } {
  const pipeline = withTraces(dependencies);
  const { forwardAuth } = pipeline;
  const handle = (
    message: IncomingMessage,
    response: ServerResponse,
    end: (exchange: Exchange, pipeline: Pipeline) => Promise<void>,
    connection: ServerResponse | Duplex = response,
  ) => {
    const exchange = createExchange(message, response, pipeline.isTrustedProxy);
    end(exchange, pipeline).catch((err: unknown) => {
      exchange.notes.err = err;
      connection.destroy();
    });
  };
  return {
    listener: observe((message, response) => {
      const isQuestion = forwardAuth && isVerification(message);
      handle(message, response, isQuestion ? answerVerification : answerRequest);
    }),
    upgrades: {
      // The verification request of an upgrade must not open one, even if a route matches its path.
      accepts: (message) =>
        !(forwardAuth && isVerification(message)) && isWebSocketRequest(message, pipeline),
      handle(message, socket, head) {
        // An error without a listener would end the process.
        socket.on('error', () => socket.destroy());
        socket.setTimeout(0);
        const response = new ServerResponse(message);
        response.assignSocket(socket);
        const end = (exchange: Exchange) => answerUpgrade(exchange, pipeline, socket, head);
        observe(() => handle(message, response, end, socket))(message, response);
      },
    },
  };
}

async function answerRequest(exchange: Exchange, pipeline: Pipeline): Promise<void> {
  const reply = await run(requests, exchange, pipeline);
  const signer = exchange.verified?.signer;
  const signed = signer === undefined ? reply : await sign(reply, signer, exchange, pipeline);
  await complete(signed, exchange, pipeline);
}

/** The reply is not signed, because no client receives it. */
async function answerVerification(exchange: Exchange, pipeline: Pipeline): Promise<void> {
  const { notes } = exchange;
  notes.operation = forwardAuthOperation;
  const reply = await run(verifications, exchange, pipeline);
  const { code } = notes;
  if (code !== undefined) {
    // nginx and HAProxy read no body, so they learn the code from a header.
    reply.headers.push('X-Auth-Error', code);
  }
  await complete(reply, exchange, pipeline);
}

async function answerUpgrade(
  exchange: Exchange,
  pipeline: Pipeline,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { status, headers, body } = await run(upgrades, exchange, pipeline);
  const { response, connection } = exchange;
  if (connection === undefined) {
    response.once('finish', () => socket.end());
    const id = exchange.observed.id;
    response.writeHead(status, [...headers, 'X-Request-Id', id, 'Connection', 'close']);
    response.end(body);
    return;
  }
  if (socket.destroyed) {
    connection.socket.destroy();
    return;
  }
  response.writeHead(status, headers);
  response.flushHeaders();
  response.end();
  const { verified, route } = admittedOf(exchange);
  joinConnections(verified, route, [socket, connection.socket], head);
}

async function sign(
  reply: Reply,
  signer: Signer,
  exchange: Exchange,
  pipeline: Pipeline,
): Promise<Reply> {
  if (exchange.storeFailed && isClaimed(signer)) {
    return reply;
  }
  try {
    return await pipeline.signReply(reply, signer);
  } catch (thrown) {
    const refusal = await refuse(thrown, exchange, pipeline);
    // If the store is unavailable or full, a second claim would fail, too.
    return thrown instanceof StoreUnavailableError
      ? refusal
      : pipeline.signReply(refusal, signer).catch(() => refusal);
  }
}

/** Adds the headers of every reply, and writes it. */
async function complete(
  reply: Reply,
  { message, response, observed, verified, appliedLimits, storeFailed }: Exchange,
  { crossOrigin, now }: Pipeline,
): Promise<void> {
  const { headers } = reply;
  headers.push('X-Request-Id', observed.id);
  addLimitHeaders(headers, appliedLimits, now());
  const { origin } = message.headers;
  if (origin !== undefined) {
    const clientId = verified?.principal.clientId;
    headers.push(
      ...(storeFailed ? ['Vary', 'Origin'] : await crossOrigin.replyHeaders(origin, clientId)),
    );
  }
  writeReply(reply, message, response);
}

/** Any other upgrade is an ordinary request, which `assertNoUpgrade` rejects. */
function isWebSocketRequest({ headers, method, url = '' }: IncomingMessage, { router }: Pipeline) {
  if (headers.upgrade?.toLowerCase() !== 'websocket' || method !== 'GET') {
    return false;
  }
  try {
    return routeOf(router.find('GET', parseRequestTarget(url)))?.webSocket === true;
  } catch {
    return false;
  }
}

/** Puts each step that can wait into a span. */
function withTraces(pipeline: Pipeline): Pipeline {
  const { tracer, limits, forwarding } = pipeline;
  if (tracer === undefined) {
    return pipeline;
  }
  return {
    ...pipeline,
    authenticate: traced(tracer, ['authenticate', 'internal'], pipeline.authenticate),
    limits: {
      ...limits,
      countAddress: traced(tracer, ['limit address', 'internal'], limits.countAddress),
      countClient: traced(tracer, ['limit client', 'internal'], limits.countClient),
    },
    forwarding: {
      forward: traced(tracer, ['forward', 'call'], forwarding.forward),
      openWebSocket: traced(tracer, ['forward', 'call'], forwarding.openWebSocket),
    },
    signReply: traced(tracer, ['sign', 'internal'], pipeline.signReply),
  };
}
