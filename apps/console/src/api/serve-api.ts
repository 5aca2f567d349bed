/**
 * Serves the management API, /admin/v1, over @gatehouse/operators.
 *
 *   request ─▶ framing ─▶ limit of the address ─▶ token ─▶ limit of the caller ─▶ operation ─▶ reply
 *              operations.ts (the list) ─▶ document.ts (OpenAPI)      any error ─▶ problem details
 *
 * A caller without a valid token learns nothing about paths. A path outside of the API passes to the
 * screens of the console.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import type { Identity, OperatorAccess } from '@gatehouse/identity';
import type { Operator, Operators } from '@gatehouse/operators';
import {
  addressGroup,
  allowedMethods,
  assertClearMessage,
  createRouter,
  observedRequest,
  unmappedAddress,
} from '@gatehouse/server';
import {
  createRateLimiter,
  limitPolicy,
  limitState,
  type RateLimit,
  retryAfter,
} from '@gatehouse/store';
import { createAuthentication, METADATA_PATH, metadataOf, type Places } from './authenticate.ts';
import { createDocument } from './document.ts';
import { createIdempotency } from './idempotency.ts';
import {
  assertNoBody,
  etagOf,
  isKnown,
  type Reply,
  readIfMatch,
  readJson,
  readQuery,
  toFailure,
  write,
  writeProblem,
} from './messages.ts';
import { BASE_PATH, type Operation } from './operation.ts';
import { operations } from './operations.ts';

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

const router = createRouter(
  operations.map((operation) => ({
    ...{ method: operation.method, path: BASE_PATH + operation.path, operation },
  })),
  { plainPathsHideOthers: true },
);

interface Dependencies extends Places {
  readonly identity: Identity;
  readonly operators: Operators;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** A request to the console, with the address of its caller. */
type ConsoleRequest = IncomingMessage & { readonly ip?: string | undefined };

export function serveApi(dependencies: Dependencies) {
  const authenticate = createAuthentication(dependencies, dependencies.identity);
  const limits = createLimits(dependencies);
  const documents = createDocuments(dependencies);
  const perform = createPerform(dependencies);

  async function answer(request: IncomingMessage, path: string, address: string): Promise<Reply> {
    assertClearMessage(request);
    await limits.takeOfAddress(address);
    const document = documents[path];
    if (document !== undefined) {
      return document(request);
    }
    const segments = path.slice(1).split('/');
    const match = router.find(request.method ?? '', { path, segments });
    const { notes, startedAt } = observedRequest(request);
    const operation = match?.entry?.operation;
    notes.operation = operation === undefined ? 'unmatched' : `api.${operation.name}`;
    const access = await authenticate(request, operation?.scope ?? 'operator:read');
    Object.assign(notes, { clientId: access.clientId, credential: 'bearer', verified: true });
    notes.verifiedMs = performance.now() - startedAt;
    await limits.takeOfCaller(access);
    if (match === undefined) {
      const message = `The API has no such path. GET ${DOCUMENT_PATH} lists all of them.`;
      throw new ApiError('not_found', { message });
    }
    if (match.entry === undefined) {
      throw methodNotAllowed(allowedMethods(match.others));
    }
    const admitted = { operation: match.entry.operation, access, segments, address };
    return perform(request, admitted);
  }

  return (request: ConsoleRequest, response: ServerResponse, next: () => void): void => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (path !== METADATA_PATH && path !== BASE_PATH && !path.startsWith(`${BASE_PATH}/`)) {
      next();
      return;
    }
    answer(request, path, unmappedAddress(request.ip ?? ''))
      .then((reply) => write(request, response, reply))
      .catch((error: unknown) => {
        writeProblem(request, response, toFailure(error, request.method));
      });
  };
}

function createLimits({ identity: { store }, now }: Dependencies) {
  function createLimit(party: 'address' | 'caller', limit: RateLimit) {
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
  const takeOfAddress = createLimit('address', addressLimit);
  const takeOfCaller = createLimit('caller', callerLimit);
  return {
    takeOfAddress: (address: string) => takeOfAddress(addressGroup(address)),
    takeOfCaller: ({ clientId, userId }: OperatorAccess) =>
      takeOfCaller(JSON.stringify([clientId, userId])),
  };
}

/** A request to an operation that its caller may use. */
interface Admitted {
  readonly operation: Operation;
  readonly access: OperatorAccess;
  /** Of the whole path. */
  readonly segments: readonly string[];
  readonly address: string;
}

function createPerform({ identity, operators, consoleUrl, now }: Dependencies) {
  const once = createIdempotency(identity, now);
  const root = consoleUrl + BASE_PATH;

  return async (request: IncomingMessage, admitted: Admitted): Promise<Reply> => {
    const { operation, access, segments, address } = admitted;
    const { url = '', headers } = request;
    const search = new URLSearchParams(url.split(/\?(.*)/s)[1]);
    const query = readQuery(search, Object.keys(operation.query?.shape ?? {}));
    const call = {
      operators,
      operator: operatorOf(access, address, observedRequest(request).id),
      path: readPath(operation.path, segments),
      query,
      condition: operation.isConditional ? { ifVersion: readIfMatch(request) } : {},
    };
    const body = await readBody(request, operation);
    const run = async () => operation.run({ ...call, body });
    const key = headers['idempotency-key'];
    if (!operation.isCreation) {
      return replyTo(request, await run(), `${root}${operation.path}`, query);
    }
    const made =
      key === undefined
        ? { reply: await run(), isRepeated: false }
        : await once(String(key), access, [operation.name, call.path, body], run);
    const location = operation.location?.(made.reply);
    return {
      status: 201,
      headers: {
        ...headersOf(made.reply, root, query),
        ...(location === undefined ? {} : { Location: root + location }),
        ...(made.isRepeated ? { 'Idempotency-Replayed': 'true' } : {}),
      },
      body: made.reply,
    };
  };
}

type Query = Readonly<Record<string, string>>;

function replyTo(request: IncomingMessage, result: unknown, address: string, query: Query): Reply {
  const headers = headersOf(result, address, query);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  return isRead && headers.ETag !== undefined && isKnown(request, headers.ETag)
    ? { status: 304, headers }
    : { status: 200, headers, body: result };
}

function headersOf(result: unknown, address: string, query: Query): Record<string, string> {
  const { version, next } = Object(result) as Readonly<Record<string, string | undefined>>;
  const following = new URLSearchParams({ ...query, cursor: next ?? '' });
  return {
    ...(version === undefined ? {} : { ETag: etagOf(version) }),
    ...(next === undefined ? {} : { Link: `<${address}?${following}>; rel="next"` }),
  };
}

/** They need no token. */
function createDocuments(places: Places) {
  const serve = (name: string, read: () => unknown) => async (request: IncomingMessage) => {
    observedRequest(request).notes.operation = name;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw methodNotAllowed(['GET', 'HEAD']);
    }
    return { status: 200, headers: { 'Cache-Control': 'public, max-age=300' }, body: read() };
  };
  let document: unknown;
  const readDocument = () => {
    document ??= createDocument(operations, places);
    return document;
  };
  const documents: Readonly<Record<string, (request: IncomingMessage) => Promise<Reply>>> = {
    [METADATA_PATH]: serve('api.protected-resource', () => metadataOf(places)),
    [DOCUMENT_PATH]: serve('api.openapi', readDocument),
  };
  return documents;
}

const operatorOf = (
  { clientId, userId, sessionId }: OperatorAccess,
  address: string,
  requestId: string,
): Operator => ({
  ...{ actor: 'console', operator: userId ?? clientId, session: sessionId },
  ...{ address, requestId },
});

async function readBody(
  request: IncomingMessage,
  { body, acceptsAnyJson }: Operation,
): Promise<unknown> {
  if (body !== undefined) {
    return readJson(request, acceptsAnyJson === true);
  }
  assertNoBody(request);
  return undefined;
}

/** @param segments of the whole path @throws ApiError `illegal_argument` */
function readPath(path: string, segments: readonly string[]): Readonly<Record<string, string>> {
  const parts = (BASE_PATH + path).slice(1).split('/');
  const named = parts.flatMap((part, index) =>
    part.startsWith('{') ? [[part.slice(1, -1), segments[index] ?? ''] as const] : [],
  );
  try {
    return Object.fromEntries(named.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch (cause) {
    const message = 'The path has an invalid percent-encoding.';
    throw new ApiError('illegal_argument', { message, cause, reason: 'target_invalid' });
  }
}

function methodNotAllowed(methods: readonly string[]): ApiError {
  const allowed = methods.join(', ');
  return new ApiError('method_not_allowed', {
    message: `This path does not support the method. It supports ${allowed}.`,
    headers: { Allow: allowed },
  });
}
