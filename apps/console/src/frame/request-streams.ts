/** What the screen of requests offers besides pages: new requests as server-sent events. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Operators } from '@gatehouse/operators';
import { observedRequest } from '@gatehouse/server';
import type { Express } from 'express';
import type { Cookies } from '../session/cookies.ts';
import type { Sessions } from '../session/sessions.ts';
import {
  EVENTS_PATH,
  FIND_PATH,
  pathTo,
  REQUEST_PATH,
  REQUESTS_PATH,
  requestQuery,
} from '../view/addresses.ts';
import { FrameError } from './errors.ts';
import { filtersOf } from './exports.ts';
import { noteOperation } from './send-page.ts';
import type { OpenedExchange, SignIn } from './sign-in.ts';

/** The names in log and metrics. */
export const streamOperations = [FIND_PATH, EVENTS_PATH] as const;

/** Each one reads the log again and again. */
const MAXIMUM_STREAMS = 20;
const MAXIMUM_STREAMS_OF_SESSION = 3;
/** Enough to notice a change: the page itself shows the requests. */
const WATCHED = 50;
const WATCHED_MILLISECONDS = 10 * 60_000;

interface Dependencies {
  readonly operators: Operators;
  readonly signIn: SignIn;
  readonly sessions: Sessions;
  readonly cookies: Cookies;
  /** Ends the streams when the server stops. */
  readonly stopping?: AbortSignal | undefined;
  /** How often a stream looks for new requests. */
  readonly pollMilliseconds?: number;
  readonly now: () => number;
}

/** The request with a pasted id, and the events. */
export function addRequestStreams(app: Express, dependencies: Dependencies): void {
  const { withSession } = dependencies.signIn;
  app.get(FIND_PATH, noteOperation(FIND_PATH), ({ query: { id } }, response) => {
    const sought = typeof id === 'string' ? id.trim() : '';
    response.redirect(303, sought === '' ? REQUESTS_PATH : pathTo(REQUEST_PATH, { id: sought }));
  });
  app.get(EVENTS_PATH, noteOperation(EVENTS_PATH), withSession(createEvents(dependencies)));
}

function createEvents(dependencies: Dependencies) {
  const { operators, sessions, cookies, stopping, pollMilliseconds = 2000, now } = dependencies;
  const open = new Set<{ readonly key: string }>();

  return async ({ request, response, session }: OpenedExchange): Promise<void> => {
    const stream = { key: session.key };
    const filter = filtersOf(request, requestQuery);
    const own = [...open].filter(({ key }) => key === stream.key);
    if (open.size >= MAXIMUM_STREAMS || own.length >= MAXIMUM_STREAMS_OF_SESSION) {
      throw new FrameError('limit');
    }
    open.add(stream);
    observedRequest(request).notes.isOpenEnded = true;
    const closed = new AbortController();
    response.on('close', () => closed.abort());
    const signal = AbortSignal.any([closed.signal, ...(stopping ? [stopping] : [])]);
    const waited = () => sleep(pollMilliseconds, true, { signal }).catch(() => false);
    const watched = async () => {
      const { since = now() - WATCHED_MILLISECONDS, ...others } = filter;
      const { items } = await operators.requests.list({ ...others, since, limit: WATCHED });
      return items.map(({ requestId, time }) => `${time} ${requestId}`).join();
    };
    try {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
      response.write('retry: 3000\n\n');
      let known = await watched();
      while (await waited()) {
        // Only pages that the operator opens keep a session alive.
        if ((await sessions.find(cookies.readSession(request) ?? '', false)) === undefined) {
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
      open.delete(stream);
      response.end();
    }
  };
}
