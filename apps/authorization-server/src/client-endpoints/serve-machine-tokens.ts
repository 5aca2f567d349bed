/**
 * The fast path of client_credentials at /token, which machines call thousands of times a second:
 *
 *   transport rules ─▶ plain request? ─▶ issue (grants/machine-token-issuer.ts) ─▶ 200
 *                          └ no ─────────────┴ rejected ─▶ the provider handles the unchanged request
 *
 * It replies only with 200, or with 503 when the store is unavailable. The provider writes, audits
 * and counts every rejection. The provider's own models decide about client, secret, grant type,
 * scope and token, so this path accepts nothing that the provider would reject.
 */

import type { AuditTrail } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import { requestOrigin } from '../audit/request-origin.ts';
import type { MachineTokenIssuer } from '../grants/machine-token-issuer.ts';
import { addressGroupOf } from '../http/address-group-of.ts';
import { readDeclaredBody } from '../http/request-body.ts';
import { mayBePlain, readPlainTokenRequest } from './plain-token-request.ts';
import { replaceBody } from './replace-body.ts';
import { replyHeaders } from './reply.ts';

export function serveMachineTokens(
  issue: MachineTokenIssuer,
  audit: Pick<AuditTrail, 'record'>,
): RequestHandler {
  return async (request, response, next) => {
    if (!mayBePlain(request)) {
      next();
      return;
    }
    const body = await readDeclaredBody(request);
    const plain = readPlainTokenRequest(request.headers.authorization, body.toString('latin1'));
    const reply = plain && (await issue(plain, addressGroupOf(request)));
    if (plain === undefined || reply === undefined) {
      replaceBody(request, body);
      next();
      return;
    }
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
