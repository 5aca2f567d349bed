/**
 * What the screen of requests offers besides pages: the request with a pasted id, new requests as
 * server-sent events, and all requests as JSON lines.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Operators } from '@gatehouse/operators';
import { observedRequest } from '@gatehouse/server';
import type { Express, Request, Response } from 'express';
import type { Session, Sessions } from '../session/sessions.ts';
import { pathTo } from '../view/addresses.ts';
import {
  EVENTS_PATH,
  EXPORT_PATH,
  FIND_PATH,
  REQUEST_PATH,
  REQUESTS_PATH,
  requestQuery,
  toFilter,
} from '../view/request-log.ts';
import { FrameError } from './errors.ts';
import type { SignIn } from './sign-in.ts';

export const streamOperations = [FIND_PATH, EVENTS_PATH, EXPORT_PATH] as const;

/** Each one reads the log again and again. */
const MAXIMUM_STREAMS = 20;
const MAXIMUM_STREAMS_OF_SESSION = 3;
/** Enough to notice a change: the page itself shows the requests. */
const WATCHED = 50;
const WATCHED_MILLISECONDS = 10 * 60_000;
const EXPORT_PAGE = 1000;

export function addRequestStreams(
  app: Express,
  dependencies: {
    readonly operators: Operators;
    readonly signIn: SignIn;
    readonly sessions: Sessions;
    readonly readSession: (request: Request) => string | undefined;
    /** Ends the streams when the server stops. */
    readonly stopping: AbortSignal | undefined;
    readonly pollMilliseconds: number;
    readonly now: () => number;
  },
): void {
  const { operators, signIn } = dependencies;
  const events = createEvents(dependencies);

  app.get(FIND_PATH, (request, response) => {
    observedRequest(request).notes.operation = FIND_PATH;
    const { id } = request.query;
    const sought = typeof id === 'string' ? id.trim() : '';
    response.redirect(303, sought === '' ? REQUESTS_PATH : pathTo(REQUEST_PATH, { id: sought }));
  });
  app.get(EVENTS_PATH, signIn.withSession(events));
  app.get(
    EXPORT_PATH,
    signIn.withSession((request, response) => exportLines(request, response, operators)),
  );
}

function filterOf(request: Request) {
  const parsed = requestQuery.safeParse(
    Object.fromEntries(Object.entries(request.query).filter(([, value]) => value !== '')),
  );
  if (!parsed.success) {
    throw new FrameError('bad');
  }
  return toFilter(parsed.data);
}

function createEvents({
  operators,
  sessions,
  readSession,
  stopping,
  pollMilliseconds,
  now,
}: Parameters<typeof addRequestStreams>[1]) {
  const open = new Map<string, number>();
  const count = () => [...open.values()].reduce((sum, each) => sum + each, 0);

  return async (request: Request, response: Response, { key }: Session): Promise<void> => {
    const { notes } = observedRequest(request);
    notes.operation = EVENTS_PATH;
    const filter = filterOf(request);
    const own = open.get(key) ?? 0;
    if (count() >= MAXIMUM_STREAMS || own >= MAXIMUM_STREAMS_OF_SESSION) {
      throw new FrameError('limit');
    }
    open.set(key, own + 1);
    notes.isOpenEnded = true;
    const closed = new AbortController();
    response.on('close', () => closed.abort());
    const signal = AbortSignal.any([closed.signal, ...(stopping ? [stopping] : [])]);
    const watched = async () => {
      const since = now() - WATCHED_MILLISECONDS;
      const { items } = await operators.requests.list({
        ...filter,
        since: filter.since ?? since,
        limit: WATCHED,
      });
      return items.map(({ requestId, time }) => `${time} ${requestId}`).join();
    };
    /** Only pages that the operator opens keep a session alive. */
    const hasSession = async () =>
      (await sessions.find(readSession(request) ?? '', false)) !== undefined;
    try {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
      response.write('retry: 3000\n\n');
      let known = await watched();
      while (await waited(pollMilliseconds, signal)) {
        if (!(await hasSession())) {
          break;
        }
        const found = await watched();
        // The comment notices a browser that has left.
        response.write(found === known ? ':\n\n' : 'data: new\n\n');
        known = found;
      }
    } catch {
      // The store does not answer. The browser connects again.
    } finally {
      const left = (open.get(key) ?? 1) - 1;
      if (left === 0) {
        open.delete(key);
      } else {
        open.set(key, left);
      }
      response.end();
    }
  };
}

const waited = (milliseconds: number, signal: AbortSignal): Promise<boolean> =>
  sleep(milliseconds, true, { signal }).catch(() => false);

async function exportLines(
  request: Request,
  response: Response,
  operators: Operators,
): Promise<void> {
  observedRequest(request).notes.operation = EXPORT_PATH;
  const filter = filterOf(request);
  let page = await operators.requests.list({ ...filter, limit: EXPORT_PAGE });
  response.writeHead(200, {
    'Content-Type': 'application/jsonl; charset=utf-8',
    'Content-Disposition': 'attachment; filename="requests.jsonl"',
  });
  for (;;) {
    const lines = page.items.map(
      ({ explanation: _texts, ...entry }) => `${JSON.stringify(entry)}\n`,
    );
    if (!response.write(lines.join('')) && !response.destroyed) {
      await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    if (page.next === undefined || response.destroyed) {
      break;
    }
    page = await operators.requests.list({ ...filter, cursor: page.next, limit: EXPORT_PAGE });
  }
  response.end();
}
