/**
 * The short way of client_credentials at /token, which machines ask thousands of times a second:
 *
 *   transport rules ─▶ plain request? ─▶ issueMachineToken (grants/) ─▶ 200
 *                          └ no ─────────────┴ refused ─▶ the provider, as if nobody had looked
 *
 * It only ever answers 200, or 503 for a store that is away: every refusal is the provider's, with its words, its
 * audit and its counting. What decides (who the client is, its secret, its grants, its scope, the token) is asked
 * of the provider's own models, so that nothing is accepted here that would be refused there.
 */
import { observedRequest } from '@gatehouse/http-server';
import type { AuditTrail } from '@gatehouse/identity';
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
