/**
 * POST /platform/oauth2/token: the token endpoint as third-party platforms call it, with JSON or a
 * form. A JSON body is read strictly, converted to the form that /token takes, and continues as a
 * request to /token. Client authentication, codes, refresh tokens, limits and log lines are
 * therefore the same code.
 *
 *   transport rules ─▶ JSON? read, validate, convert to a form ─▶ the provider's /token ─▶ clientEndpointReply
 */
import { grantFacts, grantNames } from '@gatehouse/identity';
import { parseStrictJson, type StrictJsonError } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { contextOf } from '../requests/request-context.ts';
import { providerRoutes } from '../requests/routes.ts';
import { type BodyFormat, FORM } from './transport.ts';

export const PLATFORM_TOKEN_PATH = '/platform/oauth2/token';

const JSON_TYPE = 'application/json';

/**
 * Runs before anything that may reject the request, so that every failure has the envelope's
 * members.
 */
export const fromPlatform: RequestHandler = (request, _response, next) => {
  contextOf(request).isPlatform = true;
  // Only servers call this endpoint, so no origin is registered for it.
  delete request.headers.origin;
  next();
};

export const continueAtToken: RequestHandler = (request, _response, next) => {
  const [, query] = request.url.split(/(?=\?)/);
  request.url = `${providerRoutes.token}${query ?? ''}`;
  request.originalUrl = request.url;
  next();
};

export const jsonOrForm: BodyFormat = {
  mediaTypes: [JSON_TYPE, FORM],
  convert({ headers }, body) {
    if (headers['content-type']?.toLowerCase().startsWith(JSON_TYPE) !== true) {
      return body;
    }
    const form = toForm(body);
    if (typeof form === 'string') {
      return { status: 400, reason: 'invalid_request', description: form };
    }
    headers['content-type'] = FORM;
    return Buffer.from(form.toString());
  },
};

/** Every other member is ignored (`expires_in`, `sub`, `role`). */
const parameters = [
  ...['grant_type', 'client_id', 'client_secret', 'client_assertion', 'client_assertion_type'],
  ...['scope', 'resource'],
  ...grantNames.flatMap((name) => {
    const { isOfPlatform, parameters: own = [] } = grantFacts(name);
    return isOfPlatform ? own : [];
  }),
];

/** The content of a JSON body, or the problem with it, which never quotes a value. */
function toForm(body: Buffer): URLSearchParams | string {
  let members: unknown;
  try {
    members = parseStrictJson(body);
  } catch (error) {
    return `The body ${(error as StrictJsonError).message}.`;
  }
  if (typeof members !== 'object' || members === null || Array.isArray(members)) {
    return 'The body must be a JSON object.';
  }
  const form = new URLSearchParams();
  for (const name of parameters) {
    const member: unknown = Object.hasOwn(members, name) ? Reflect.get(members, name) : undefined;
    if (typeof member === 'string') {
      form.set(name, member);
    } else if (member !== undefined && member !== null) {
      return `${name} must be a string.`;
    }
  }
  return form;
}
