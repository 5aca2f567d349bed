/**
 * Serves the management API, /admin/v1, over @gatehouse/operators.
 *
 *   request ─▶ framing ─▶ limit of the address ─▶ token ─▶ limit of the caller ─▶ operation ─▶ reply
 *              document.ts (the list, OpenAPI)                        any error ─▶ problem details
 *
 * A caller without a valid token learns nothing about paths. A path outside of the API passes to the
 * screens of the console.
 */
import { ApiError } from '@gatehouse/errors';
import { type Identity, memoized, type OperatorAccess } from '@gatehouse/identity';
import type { Operators } from '@gatehouse/operators';
import {
  addressGroup,
  allowedMethods,
  assertClearMessage,
  createRouter,
  expressAddress,
  observedRequest,
  pathParameters,
} from '@gatehouse/server';
import {
  createRateLimiter,
  limitPolicy,
  limitState,
  type RateLimit,
  retryAfter,
} from '@gatehouse/store';
import express, { type Request, type Response } from 'express';
import { createAuthentication, METADATA_PATH, metadataOf, type Places } from './authenticate.ts';
import { createDocument, operations } from './document.ts';
import { createIdempotency } from './idempotency.ts';
import { handleProblem, isKnown, readBody, readIfMatch, readQuery } from './messages.ts';
import { BASE_PATH } from './operation.ts';

const DOCUMENT_PATH = `${BASE_PATH}/openapi.json`;

/** Of all callers at one address, so that nobody can try tokens without end. */
const addressLimit = { requests: 6000, windowSeconds: 60 };
/** Of one user at one client, or of one machine. */
const callerLimit = { requests: 1200, windowSeconds: 60 };

/** The names in log and metrics. */
export const apiOperations: readonly string[] = [
  ...operations.map(({ name }) => `api.${name}`),
  ...['api.openapi', 'api.protected-resource'],
];

const entries = operations.map((operation) => ({
  ...{ method: operation.method, path: BASE_PATH + operation.path, operation },
}));
const router = createRouter(entries, { plainPathsHideOthers: true });

interface Dependencies extends Places {
  readonly identity: Identity;
  readonly operators: Operators;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function serveApi(dependencies: Dependencies): express.Router {
  const authenticate = createAuthentication(dependencies, dependencies.identity);
  const limitAddress = createLimit('address', addressLimit, dependencies);
  const limitCaller = createLimit('caller', callerLimit, dependencies);
  const documents = createDocuments(dependencies);
  const perform = createPerform(dependencies);

  async function answer(request: Request, response: Response): Promise<void> {
    assertClearMessage(request);
    await limitAddress(addressGroup(expressAddress(request)));
    response.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
    const [path = ''] = request.originalUrl.split('?', 1);
    const document = documents[path];
    if (document !== undefined) {
      document(request, response);
      return;
    }
    const segments = path.slice(1).split('/');
    const match = router.find(request.method, { path, segments });
    const { notes, startedAt } = observedRequest(request);
    const operation = match?.entry?.operation;
    notes.operation = operation === undefined ? 'unmatched' : `api.${operation.name}`;
    const access = await authenticate(request, operation?.scope ?? 'operator:read');
    const { clientId, userId } = access;
    Object.assign(notes, { clientId, userId, credential: 'bearer', verified: true });
    notes.verifiedMs = performance.now() - startedAt;
    await limitCaller(JSON.stringify([clientId, userId]));
    if (match === undefined) {
      const message = `The API has no such path. GET ${DOCUMENT_PATH} lists all of them.`;
      throw new ApiError('not_found', { message });
    }
    if (match.entry === undefined) {
      throw methodNotAllowed(allowedMethods(match.others));
    }
    await perform(request, response, { entry: match.entry, access, segments });
  }

  return express
    .Router({ caseSensitive: true })
    .use([METADATA_PATH, BASE_PATH], answer, handleProblem);
}

function createLimit(
  party: 'address' | 'caller',
  limit: RateLimit,
  { identity: { store }, now }: Dependencies,
) {
  const limiter = createRateLimiter(`api-${party}`, limit, { store, now });
  /** @throws ApiError `too_many_requests` */
  return async (key: string): Promise<void> => {
    const verdict = await limiter.take(key);
    if (!verdict.allowed) {
      throw new ApiError('too_many_requests', {
        message: `This ${party} sent more than ${limit.requests} requests in a minute. Wait for the seconds in Retry-After.`,
        headers: {
          'Retry-After': retryAfter(verdict, now()),
          'RateLimit-Policy': limitPolicy(`"${party}"`, limit),
          RateLimit: limitState(`"${party}"`, verdict, now()),
        },
      });
    }
  };
}

/** They need no token. */
function createDocuments(places: Places) {
  const serve = (name: string, read: () => unknown) => (request: Request, response: Response) => {
    observedRequest(request).notes.operation = name;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw methodNotAllowed(['GET', 'HEAD']);
    }
    response.set('Cache-Control', 'public, max-age=300').json(read());
  };
  const readDocument = memoized(createDocument);
  const documents: Readonly<Record<string, ReturnType<typeof serve>>> = {
    [METADATA_PATH]: serve('api.protected-resource', () => metadataOf(places)),
    [DOCUMENT_PATH]: serve('api.openapi', () => readDocument(places)),
  };
  return documents;
}

function createPerform({ identity, operators, consoleUrl, now }: Dependencies) {
  const once = createIdempotency(identity, now);

  return async (
    request: Request,
    response: Response,
    admitted: {
      readonly entry: (typeof entries)[number];
      readonly access: OperatorAccess;
      /** Of the whole path. */
      readonly segments: readonly string[];
    },
  ): Promise<void> => {
    const { entry, access, segments } = admitted;
    const { operation } = entry;
    const { clientId, userId, sessionId } = access;
    const query = readQuery(
      new URLSearchParams(request.originalUrl.split(/\?(.*)/s)[1]),
      operation,
    );
    const path = pathParameters(entry, segments);
    const condition = operation.isConditional ? { ifVersion: readIfMatch(request) } : {};
    const body = await readBody(request, operation);
    const operator = {
      ...{ actor: 'console', operator: userId ?? clientId, session: sessionId },
      isMachine: userId === undefined,
      address: expressAddress(request),
      requestId: observedRequest(request).id,
    };
    const run = async () =>
      operation.run({ operators, operator, path, query, body, condition }) as Promise<object>;
    const key = operation.isCreation ? request.get('idempotency-key') : undefined;
    const { reply, isRepeated } =
      key === undefined
        ? { reply: await run(), isRepeated: false }
        : await once(key, access, [operation.name, path, body], run);
    const { version, next } = reply as Readonly<Record<'version' | 'next', string | undefined>>;
    if (version !== undefined) {
      response.set('ETag', `"${version}"`);
      if (operation.method === 'GET' && isKnown(request, `"${version}"`)) {
        response.status(304).end();
        return;
      }
    }
    if (next !== undefined) {
      const following = new URLSearchParams({ ...query, cursor: next });
      response.links({ next: `${consoleUrl}${entry.path}?${following}` });
    }
    if (operation.location !== undefined) {
      response.location(consoleUrl + BASE_PATH + operation.location(reply as never));
    }
    if (isRepeated) {
      response.set('Idempotency-Replayed', 'true');
    }
    response.status(operation.isCreation ? 201 : 200).json(reply);
  };
}

function methodNotAllowed(methods: readonly string[]): ApiError {
  const allowed = methods.join(', ');
  return new ApiError('method_not_allowed', {
    message: `This path does not support the method. It supports ${allowed}.`,
    headers: { Allow: allowed },
  });
}
