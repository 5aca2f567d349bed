/**
 * The fast path of client_credentials at /token, which machines call thousands of times a second:
 *
 *   transport rules ─▶ plain request? ─▶ issue ─▶ 200
 *                          └ no ───────────┴ rejected ─▶ the provider handles the unchanged request
 *
 * It replies only with 200, or with 503 when the store is unavailable. The provider writes, audits
 * and counts every rejection. The provider's own models decide about client, secret, grant type,
 * scope and token, so this path accepts nothing that the provider would reject.
 */

import type { IncomingMessage } from 'node:http';
import type { AuditTrail, ClientRegistry } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { SecurityProfile } from '../provider/clients.ts';
import { TemporarilyUnavailableError } from '../provider/library.ts';
import { addressGroupOf, requestOrigin } from '../requests/caller.ts';
import { contextOf } from '../requests/request-context.ts';
import {
  RevocationPendingError,
  TooManyAttemptsError,
} from '../requests/too-many-attempts-error.ts';
import type { FailedSecrets } from '../throttle/failed-secrets.ts';
import { type ClientCredentialsReply, machineScope, saveToken } from './client-credentials.ts';
import { replyHeaders } from './replies.ts';

export function serveMachineTokens(
  issue: MachineTokenIssuer,
  audit: Pick<AuditTrail, 'record'>,
): RequestHandler {
  return async (request, response, next) => {
    const { body } = contextOf(request);
    const plain =
      body !== undefined && mayBePlain(request, body)
        ? readPlainTokenRequest(request.headers.authorization, body.toString('latin1'))
        : undefined;
    const reply = plain && (await issue(plain, addressGroupOf(request)));
    if (plain === undefined || reply === undefined) {
      next();
      return;
    }
    // Discards the body, which the provider does not read.
    request.resume();
    const { clientId, credential } = plain;
    Object.assign(observedRequest(request).notes, { clientId, credential });
    audit.record(
      { event: 'token_issued', grant: 'client_credentials', clientId, scope: reply.scope },
      requestOrigin(request),
    );
    const text = JSON.stringify(reply);
    response.writeHead(200, {
      ...replyHeaders,
      Vary: 'Origin',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
  };
}

/** A machine's token request in a form that every parser reads alike. */
export interface PlainTokenRequest {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | undefined;
  /** Whether the credentials were in the Authorization header or in the body. */
  readonly credential: 'basic' | 'body';
}

const MAXIMUM_PLAIN_BYTES = 2048;
const FORM_TYPE = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i;
/** Headers of features that only the provider handles: CORS, attestation. */
const headersForTheProvider = [
  'origin',
  'oauth-client-attestation',
  'oauth-client-attestation-pop',
] as const;

/** Whether the headers and the length allow a plain request. */
function mayBePlain({ headers }: IncomingMessage, body: Buffer): boolean {
  return (
    body.length <= MAXIMUM_PLAIN_BYTES &&
    FORM_TYPE.test(headers['content-type'] ?? '') &&
    headersForTheProvider.every((name) => headers[name] === undefined)
  );
}

/** Characters that no decoder changes. Parsers differ in their treatment of percent and plus. */
const PLAIN = /^[\w.~-]+$/;
const PLAIN_SCOPE = /^(?:[\w.~:+-]|%20|%3A)+$/i;
const BASIC = /^Basic ((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/i;
const members = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);

/**
 * The request, or undefined for every other request: a parameter that is repeated, empty or
 * unknown, credentials in two places, an encoded character. Undefined does not mean that the
 * request is invalid.
 */
export function readPlainTokenRequest(
  authorization: string | undefined,
  body: string,
): PlainTokenRequest | undefined {
  const form = readForm(body);
  if (form?.get('grant_type') !== 'client_credentials') {
    return undefined;
  }
  const credentials = readCredentials(authorization, form);
  const scope = form.get('scope');
  if (credentials === undefined || (scope !== undefined && !PLAIN_SCOPE.test(scope))) {
    return undefined;
  }
  return { ...credentials, scope: scope && decodeURIComponent(scope.replaceAll('+', ' ')) };
}

function readForm(body: string): ReadonlyMap<string, string> | undefined {
  const form = new Map<string, string>();
  for (const pair of body.split('&')) {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, equals);
    if (equals < 0 || !members.has(name) || form.has(name)) {
      return undefined;
    }
    form.set(name, pair.slice(equals + 1));
  }
  return form;
}

/**
 * The credentials from HTTP Basic or from the body, not both. With Basic, an id in the body must be
 * the same.
 */
function readCredentials(
  authorization: string | undefined,
  form: ReadonlyMap<string, string>,
): Omit<PlainTokenRequest, 'scope'> | undefined {
  let clientId = form.get('client_id');
  let clientSecret = form.get('client_secret');
  if (authorization !== undefined) {
    const [, encoded = ''] = BASIC.exec(authorization) ?? [];
    const text = Buffer.from(encoded, 'base64').toString('latin1');
    const colon = text.indexOf(':');
    const basicId = text.slice(0, Math.max(colon, 0));
    if (clientSecret !== undefined || (clientId !== undefined && clientId !== basicId)) {
      return undefined;
    }
    clientId = basicId;
    clientSecret = text.slice(colon + 1);
  }
  return clientId !== undefined &&
    clientSecret !== undefined &&
    PLAIN.test(clientId) &&
    PLAIN.test(clientSecret)
    ? { clientId, clientSecret, credential: authorization === undefined ? 'body' : 'basic' }
    : undefined;
}

/**
 * The reply to a valid client_credentials request. Undefined for every other request: nothing was
 * issued, counted or written, and the provider still has to reply.
 *
 * @throws StoreUnavailableError
 */
type MachineTokenIssuer = (
  request: Omit<PlainTokenRequest, 'credential'>,
  address: string,
) => Promise<ClientCredentialsReply | undefined>;

export function createMachineTokenIssuer(
  provider: Provider,
  dependencies: {
    readonly failedSecrets: FailedSecrets;
    readonly clients: ClientRegistry;
    readonly securityProfile: SecurityProfile;
  },
): MachineTokenIssuer {
  const { failedSecrets, clients, securityProfile } = dependencies;
  return async ({ clientId, clientSecret, scope: requested }, address) => {
    try {
      const client = (await failedSecrets.mayTry(clientId, address))
        ? await provider.Client.find(clientId)
        : undefined;
      if (client === undefined || client.clientAuthMethod === 'none') {
        return undefined;
      }
      const secureKeyId = clients.identifySecret(await clients.find(clientId), clientSecret);
      if (secureKeyId === undefined || !client.grantTypeAllowed('client_credentials')) {
        return undefined;
      }
      const scope = machineScope(client, requested, securityProfile);
      const token = new provider.ClientCredentials({ client, scope });
      return await saveToken(Object.assign(token, { secureKeyId }), scope);
    } catch (error) {
      if (
        error instanceof errors.InvalidScope ||
        error instanceof TooManyAttemptsError ||
        error instanceof RevocationPendingError
      ) {
        return undefined;
      }
      throw error instanceof TemporarilyUnavailableError ? error.cause : error;
    }
  };
}
