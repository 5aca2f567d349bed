import { deviceScopes } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import { credentialKinds, type Route } from '../routes/route.ts';

/** The operation of a verification that does not use the route table, in logs and metrics. */
export const forwardAuthOperation = 'forward-auth';

/** The audience of the internal token if the proxy names none. */
const DEFAULT_AUDIENCE = 'forward-auth';
const AUDIENCE = /^[a-z][a-z0-9.-]{0,62}$/;

const scopes: ReadonlySet<string> = new Set(deviceScopes);
const routes = new Map<string, Route>();
const MAXIMUM_ROUTES = 1000;

/**
 * Returns a route with the scope and audience in the query of `/_verify`, or undefined if the query
 * is empty and the route table decides. The proxy's configuration contains the query.
 *
 * @throws ApiError `illegal_argument`: an unknown parameter may be a misspelled requirement
 */
export function requiredRoute(query: string): Route | undefined {
  if (query === '') {
    return undefined;
  }
  let route = routes.get(query);
  if (route === undefined) {
    route = readRoute(query);
    if (routes.size < MAXIMUM_ROUTES) {
      routes.set(query, route);
    }
  }
  return route;
}

function readRoute(query: string): Route {
  const parameters = new URLSearchParams(query);
  const problems = [...parameters.keys()].flatMap((name) => {
    if (name !== 'scope' && name !== 'audience') {
      return [{ property: name, message: 'is not a parameter of /_verify' }];
    }
    const isRepeated = parameters.getAll(name).length > 1;
    return isRepeated ? [{ property: name, message: 'was sent twice' }] : [];
  });
  const scope = parameters.get('scope') ?? '';
  if (!scopes.has(scope)) {
    problems.push({ property: 'scope', message: `must be one of ${deviceScopes.join(', ')}` });
  }
  const audience = parameters.get('audience') ?? DEFAULT_AUDIENCE;
  if (!AUDIENCE.test(audience)) {
    problems.push({ property: 'audience', message: 'must be lower-case letters, digits, . or -' });
  }
  if (problems.length > 0) {
    throw illegalArgument(problems, 'verification_invalid');
  }
  return {
    operation: forwardAuthOperation,
    // The query applies to requests of every method and path.
    method: 'GET',
    path: '/',
    scope,
    credentials: credentialKinds,
    upstream: audience,
    timeoutMilliseconds: 0,
    bodyLimitBytes: 0,
    requestHeaders: [],
    rateLimit: undefined,
    streaming: false,
    webSocket: false,
  };
}
