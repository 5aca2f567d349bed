import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from '@gatehouse/errors';
import { observedRequest, type Router, type UpgradeListener } from '@gatehouse/server';
import { parseRequestTarget, type RequestTarget } from '@gatehouse/signing';
import {
  joinConnections,
  switchingHeaders,
  type UpgradeForwarder,
} from '../forwarding/forward-upgrade.ts';
import { sent } from '../http/header-names.ts';
import { failureReply } from '../http/reply.ts';
import { type Entry, routeOf } from '../routes/entries.ts';
import type { Route } from '../routes/route.ts';
import { admit, countFailure, createRequestState, type RequestState } from './admit.ts';
import { assertServable } from './assert-servable.ts';
import { authorize } from './authorize.ts';
import { noteFailure, toFailure, withChallenge } from './failure.ts';
import type { PipelineDependencies } from './handle-request.ts';

export interface UpgradeDependencies extends PipelineDependencies {
  readonly forwardUpgrade: UpgradeForwarder;
}

/**
 * Handles `Upgrade: websocket` on a route that allows it: the same stages as for a request, then
 * two connected sockets. Any other upgrade is an ordinary request, which `assertServable` rejects.
 *
 * @param observe gives the request its id and log line
 */
export function createUpgradeHandler(
  dependencies: UpgradeDependencies,
  observe: (listener: RequestListener) => RequestListener,
): UpgradeListener {
  return {
    // The verification request of an upgrade must not open one, even if a route matches its path.
    accepts: (request) =>
      dependencies.forwardAuth?.isVerification(request) !== true &&
      findWebSocketRoute(request, dependencies.router) !== undefined,
    handle(request, socket, head) {
      // An error without a listener would end the process.
      socket.on('error', () => socket.destroy());
      socket.setTimeout(0);
      const response = new ServerResponse(request);
      response.assignSocket(socket);
      observe((message) => {
        const state = createRequestState(
          message,
          observedRequest(message).notes,
          dependencies.isTrustedProxy,
        );
        open(state, response, [socket, head], dependencies).catch((err: unknown) => {
          state.notes.err = err;
          socket.destroy();
        });
      })(request, response);
    },
  };
}

async function open(
  state: RequestState,
  response: ServerResponse,
  [socket, head]: readonly [Duplex, Buffer],
  dependencies: UpgradeDependencies,
): Promise<void> {
  const { message } = state;
  try {
    assertServable(message, { acceptsUpgrade: true });
    const target = parseRequestTarget(message.url ?? '');
    const match = dependencies.router.find('GET', target);
    const verified = await admit(state, { method: 'GET', target, match }, dependencies);
    const route = routeOf(match);
    if (route?.upstream === undefined || !route.webSocket) {
      throw new ApiError('not_found', {
        message: 'There is no such operation.',
      });
    }
    authorize(verified, route);
    const { id: requestId } = observedRequest(message);
    const { clientAddress } = state;
    const connection = await dependencies.forwardUpgrade({
      message,
      requestId,
      route,
      verified,
      clientAddress,
      upstream: route.upstream,
      path: target.path,
    });
    if (socket.destroyed) {
      connection.socket.destroy();
      return;
    }
    response.writeHead(101, switchingHeaders(connection));
    response.flushHeaders();
    response.end();
    joinConnections(verified, route.scope, [socket, connection.socket], head);
  } catch (thrown) {
    await refuse(thrown, state, response, dependencies);
  }
}

async function refuse(
  thrown: unknown,
  state: RequestState,
  response: ServerResponse,
  { limits, metadataUrl, auditFailure, now }: UpgradeDependencies,
): Promise<void> {
  const error = await countFailure(toFailure(thrown), state, limits).catch(toFailure);
  noteFailure(error, state.notes, response.destroyed);
  auditFailure(error, state);
  const reply = failureReply(withChallenge(error, metadataUrl), now());
  const { socket } = response;
  response.once('finish', () => socket?.end());
  const { id } = observedRequest(state.message);
  response.writeHead(reply.status, [
    ...reply.headers,
    sent.requestId,
    id,
    sent.connection,
    'close',
  ]);
  response.end(reply.body);
}

function findWebSocketRoute(request: IncomingMessage, router: Router<Entry>): Route | undefined {
  if (request.headers.upgrade?.toLowerCase() !== 'websocket' || request.method !== 'GET') {
    return undefined;
  }
  let target: RequestTarget;
  try {
    target = parseRequestTarget(request.url ?? '');
  } catch {
    return undefined;
  }
  const route = routeOf(router.find('GET', target));
  return route?.webSocket === true ? route : undefined;
}
