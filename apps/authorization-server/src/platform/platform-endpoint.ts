/**
 * POST /platform/oauth2/token: the token endpoint as third-party platforms call it, with JSON or a form. What came as
 * JSON is read strictly, put into the form that /token takes, and goes on as a request to /token: client
 * authentication, codes, refresh tokens, limits and log lines are the same, because they are the same code.
 *
 *   transport rules ─▶ JSON? read, check, make it a form ─▶ the provider's /token ─▶ platform-reply
 *
 * Not here: which grants are served (platform-requests.ts), and the refresh tokens of machines (grants/).
 */
import type { RequestHandler } from 'express';
import { replaceBody } from '../client-endpoints/replace-body.ts';
import { FORM, findRefusal, type Refusal, writeRefusal } from '../client-endpoints/transport.ts';
import { markPlatformRequest } from '../http/platform-requests.ts';
import { providerRoutes } from '../http/provider-routes.ts';
import { limitBody, readLimitedBody } from '../http/request-body.ts';
import { toForm } from './json-to-form.ts';

export const PLATFORM_TOKEN_PATH = '/platform/oauth2/token';

const JSON_TYPE = 'application/json';

/** Before anything that may refuse: its failures have the envelope's members. */
export const fromPlatform: RequestHandler = (request, _response, next) => {
  markPlatformRequest(request);
  next();
};

export const platformEndpoint: RequestHandler = async (request, response, next) => {
  // Called by servers: no origin was ever registered for this address.
  delete request.headers.origin;
  request.headers.accept = JSON_TYPE;
  const refuse = (refusal: Refusal) => writeRefusal(request, response, refusal);

  const refusal = findRefusal(request, [JSON_TYPE, FORM]);
  if (refusal !== undefined) {
    refuse(refusal);
    return;
  }
  if (request.headers['content-type']?.toLowerCase().startsWith(JSON_TYPE)) {
    const body = await readLimitedBody(request);
    const form = body === undefined ? undefined : toForm(body);
    if (form === undefined || 'problem' in form) {
      refuse(
        form === undefined
          ? { status: 413, error: 'invalid_request', description: 'The body is too large.' }
          : { status: 400, error: 'invalid_request', description: form.problem },
      );
      return;
    }
    replaceBody(request, Buffer.from(form.text), FORM);
  } else {
    limitBody(request);
  }
  request.url = providerRoutes.token;
  request.originalUrl = providerRoutes.token;
  next();
};
