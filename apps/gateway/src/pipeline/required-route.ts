/** What a proxy requires for a service, in the query of `/_verify`: a scope, roles, an `acr`. */
import { deviceScopes } from '@gatehouse/device-api';
import { illegalArgument } from '@gatehouse/errors';
import {
  acrValues,
  type BrowserHost,
  browserClientId,
  isDeviceScope,
  noSettings,
  type Settings,
} from '@gatehouse/identity';
import { credentialKinds } from '@gatehouse/signing';
import { commonOfRoutes, forwardAuthOperation, type Route, userClaims } from '../routes/route.ts';

/** The audience of the internal token if the proxy names none. */
const DEFAULT_AUDIENCE = 'forward-auth';
const AUDIENCE = /^[a-z][a-z0-9.-]{0,62}$/;
const MAXIMUM_ROUTES = 1000;

interface RequiredRoute extends Route {
  /** The host for whose browsers the proxy asks. */
  readonly browser: BrowserHost | undefined;
}

/** The routes that proxies required, and the settings that they were checked with. */
let known = { settings: noSettings, routes: new Map<string, RequiredRoute>() };

/**
 * Returns a route with the scope, roles, `acr`, audience and host in the query of `/_verify`. The proxy's
 * configuration contains the query.
 *
 * @throws ApiError `illegal_argument`: an unknown parameter may be a misspelled requirement
 */
export function requiredRoute(query: string, settings: Settings): RequiredRoute {
  if (known.settings !== settings) {
    known = { settings, routes: new Map() };
  }
  const route = known.routes.get(query) ?? readRequirement(query, settings);
  if (known.routes.size < MAXIMUM_ROUTES) {
    known.routes.set(query, route);
  }
  return route;
}

const requirements: readonly string[] = ['scope', 'audience', 'role', 'acr', 'browser'];

function readRequirement(query: string, settings: Settings): RequiredRoute {
  const parameters = new URLSearchParams(query);
  const problems = [...new Set(parameters.keys())].flatMap((name) => {
    if (!requirements.includes(name)) {
      return [{ property: name, message: 'is not a parameter of /_verify' }];
    }
    const isRepeated = name !== 'role' && parameters.getAll(name).length > 1;
    return isRepeated ? [{ property: name, message: 'was sent twice' }] : [];
  });
  const host = parameters.get('browser');
  const browser = settings.browserHosts.get(browserClientId(host ?? ''));
  if (host !== null && browser === undefined) {
    const hosts = [...settings.browserHosts.values()].map((each) => each.host).join(', ') || 'none';
    problems.push({ property: 'browser', message: `must be in browserHosts: ${hosts}` });
  }
  const scope = parameters.get('scope') ?? (browser === undefined ? '' : undefined);
  const declared = settings.scopes.get(scope ?? '');
  if (scope !== undefined && declared === undefined && !isDeviceScope(scope)) {
    const scopes = [...deviceScopes, ...settings.scopes.keys()].join(', ');
    problems.push({ property: 'scope', message: `must be one of ${scopes}` });
  }
  const roles = parameters.getAll('role');
  if (!roles.every((role) => settings.roles.has(role))) {
    problems.push({ property: 'role', message: 'must be declared' });
  }
  const acr = acrValues.find((each) => each === parameters.get('acr'));
  if (parameters.has('acr') && acr === undefined) {
    problems.push({ property: 'acr', message: `must be one of ${acrValues.join(', ')}` });
  }
  const audience = parameters.get('audience') ?? DEFAULT_AUDIENCE;
  if (!AUDIENCE.test(audience)) {
    problems.push({ property: 'audience', message: 'must be lower-case letters, digits, . or -' });
  }
  if (problems.length > 0) {
    throw illegalArgument(problems, 'verification_invalid');
  }
  return {
    ...commonOfRoutes,
    operation: forwardAuthOperation,
    // The query applies to requests of every method and path.
    method: 'GET',
    path: '/',
    scope,
    resource: declared?.resource.resource,
    roles,
    acr,
    claims: browser === undefined ? [] : [...userClaims.keys()],
    // Without a scope, a token of any API would be accepted.
    credentials: scope === undefined ? [] : credentialKinds,
    upstream: audience,
    bodyLimitBytes: 0,
    browser,
  };
}
