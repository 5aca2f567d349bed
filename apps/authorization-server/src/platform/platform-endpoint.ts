/**
 * POST /platform/oauth2/token: the token endpoint as third-party platforms call it, with JSON or a
 * form. A JSON body is read strictly, converted to the form that /token takes, and continues as a
 * request to /token. Client authentication, codes, refresh tokens, limits and log lines are
 * therefore the same code.
 *
 *   transport rules ─▶ JSON? read, validate, convert to a form ─▶ the provider's /token ─▶ platform-reply
 *
 * http/platform-requests.ts lists the grants that are served. grants/ owns the refresh tokens of
 * machines.
 */
import type { RequestHandler } from 'express';
import { replaceBody } from '../client-endpoints/replace-body.ts';
import {
  bodyTooLarge,
  FORM,
  findTransportError,
  moveIdOfEmptySecret,
  type TransportError,
  writeTransportError,
} from '../client-endpoints/transport.ts';
import { markPlatformRequest } from '../http/platform-requests.ts';
import { providerRoutes } from '../http/provider-routes.ts';
import { countBodyBytes, readLimitedBody } from '../http/request-body.ts';
import { toForm } from './json-to-form.ts';

export const PLATFORM_TOKEN_PATH = '/platform/oauth2/token';

const JSON_TYPE = 'application/json';

/**
 * Runs before anything that may reject the request, so that every failure has the envelope's
 * members.
 */
export const fromPlatform: RequestHandler = (request, _response, next) => {
  markPlatformRequest(request);
  next();
};

export const platformEndpoint: RequestHandler = async (request, response, next) => {
  // Only servers call this endpoint, so no origin is registered for it.
  delete request.headers.origin;
  request.headers.accept = JSON_TYPE;
  const reject = (error: TransportError) => writeTransportError(request, response, error);

  const transportError = findTransportError(request, [JSON_TYPE, FORM]);
  if (transportError !== undefined) {
    reject(transportError);
    return;
  }
  if (request.headers['content-type']?.toLowerCase().startsWith(JSON_TYPE)) {
    const body = await readLimitedBody(request);
    const form = body === undefined ? undefined : toForm(body);
    if (form === undefined || 'problem' in form) {
      reject(
        form === undefined
          ? bodyTooLarge
          : {
              status: 400,
              error: 'invalid_request',
              reason: 'invalid_request',
              description: form.problem,
            },
      );
      return;
    }
    replaceBody(request, Buffer.from(form.text), FORM);
  }
  const tooLarge = await moveIdOfEmptySecret(request);
  if (tooLarge !== undefined) {
    reject(tooLarge);
    return;
  }
  countBodyBytes(request);
  const [, query] = request.url.split(/(?=\?)/);
  request.url = `${providerRoutes.token}${query ?? ''}`;
  request.originalUrl = request.url;
  next();
};
