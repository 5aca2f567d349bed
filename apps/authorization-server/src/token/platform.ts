/**
 * POST /platform/oauth2/token: the token endpoint as third-party platforms call it, with JSON or a
 * form. A JSON body is read strictly, converted to the form that /token takes, and continues as a
 * request to /token. Client authentication, codes, refresh tokens, limits and log lines are
 * therefore the same code.
 *
 *   transport rules ─▶ JSON? read, validate, convert to a form ─▶ the provider's /token ─▶ platformReply
 *
 * grants.ts marks the grants that are served. machine-refresh.ts owns the refresh tokens of
 * machines.
 */
import { parseStrictJson, StrictJsonError } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { contextOf } from '../requests/request-context.ts';
import { providerRoutes } from '../requests/routes.ts';
import { platformParameters } from './grants.ts';
import { type BodyFormat, FORM, type TransportError } from './transport.ts';

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
  convert(request, body) {
    if (request.headers['content-type']?.toLowerCase().startsWith(JSON_TYPE) !== true) {
      return body;
    }
    const form = toForm(body);
    if (Buffer.isBuffer(form)) {
      request.headers['content-type'] = FORM;
    }
    return form;
  },
};

/** Every other member is ignored (`expires_in`, `sub`, `role`). */
const parameters = ['grant_type', 'client_id', 'client_secret', 'scope', ...platformParameters];

/**
 * The form with the content of a JSON body, or the problem with the body. A problem never quotes a
 * value.
 */
function toForm(body: Buffer): Buffer | TransportError {
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    value = parseStrictJson(text);
  } catch (error) {
    const problem = error instanceof StrictJsonError ? error.message : 'is not UTF-8';
    return invalid(`The body ${problem}.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return invalid('The body must be a JSON object.');
  }
  const members = value as Readonly<Record<string, unknown>>;
  const form = new URLSearchParams();
  for (const name of parameters) {
    const member = Object.hasOwn(members, name) ? members[name] : undefined;
    if (typeof member === 'string') {
      form.set(name, member);
    } else if (member !== undefined && member !== null) {
      return invalid(`${name} must be a string.`);
    }
  }
  return Buffer.from(form.toString());
}

function invalid(description: string): TransportError {
  return { status: 400, error: 'invalid_request', reason: 'invalid_request', description };
}
