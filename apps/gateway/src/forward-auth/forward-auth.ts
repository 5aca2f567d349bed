/**
 * Forward auth (`/_verify`): another proxy asks whether it may forward a request, and forwards it
 * itself. The verification runs through the stages of pipeline/ like a request that the gateway
 * forwards. This folder reads the verification request and writes the answer:
 *
 *   trusted peer → original-request (headers) → required-scope (query) → verifiable-credentials
 *     → pipeline/answer-verification → identity headers and an internal token
 *
 * Deliberately not here: any check of a credential.
 */
import type { IncomingMessage } from 'node:http';
import { ApiError, illegalArgument } from '@gatehouse/errors';
import type { Principal } from '@gatehouse/identity';
import { type AddressMatcher, unmappedAddress } from '@gatehouse/server';
import type { InternalTokenIssuer } from '../forwarding/internal-token.ts';
import { sent } from '../http/header-names.ts';
import { protectiveHeaders, type Reply } from '../http/reply.ts';
import { hasBody } from '../http/request-body.ts';
import type { Route } from '../routes/route.ts';
import { type OriginalRequest, readOriginalRequest } from './original-request.ts';
import { requiredRoute } from './required-scope.ts';

const PATH = '/_verify';
const NO_BODY = Buffer.alloc(0);

/** What a proxy asks. */
export interface VerificationRequest {
  readonly original: OriginalRequest;
  /** The scope and audience that the proxy names. Undefined: the route table decides. */
  readonly required: Route | undefined;
}

export interface ForwardAuth {
  isVerification(message: IncomingMessage): boolean;
  /** @throws ApiError if the peer is not a trusted proxy, or its request is ambiguous */
  read(message: IncomingMessage): VerificationRequest;
  /** The answer for an authorized caller. */
  permit(principal: Principal, audience: string): Reply | Promise<Reply>;
}

export function createForwardAuth(dependencies: {
  readonly isTrustedProxy: AddressMatcher;
  readonly issueInternalToken: InternalTokenIssuer;
}): ForwardAuth {
  const { isTrustedProxy, issueInternalToken } = dependencies;
  return {
    isVerification({ url = '' }) {
      return url.startsWith(PATH) && (url.length === PATH.length || /[?/]/.test(url[8] ?? ''));
    },
    read(message) {
      if (!isTrustedProxy(unmappedAddress(message.socket.remoteAddress ?? ''))) {
        throw new ApiError('access_denied', {
          message: 'Only a proxy whose address is in TRUSTED_PROXIES may ask for a verification.',
          reason: 'verification_peer_untrusted',
        });
      }
      if (hasBody(message)) {
        const problem = { property: 'body', message: 'must not be sent to /_verify' };
        throw illegalArgument([problem], 'verification_invalid');
      }
      const original = readOriginalRequest(message.rawHeaders);
      return { original, required: requiredRoute(ownQuery(message.url ?? '')) };
    },
    permit(principal, audience) {
      const token = issueInternalToken(principal, audience);
      return typeof token === 'string'
        ? permission(principal, token)
        : token.then((issued) => permission(principal, issued));
    },
  };
}

function permission({ clientId, subject, orgId, scopes }: Principal, token: string): Reply {
  return {
    // Not 204: Envoy accepts only 200.
    status: 200,
    headers: [
      ...protectiveHeaders,
      sent.authorization,
      `Bearer ${token}`,
      sent.authClientId,
      clientId,
      sent.authSubject,
      subject,
      sent.authOrganization,
      orgId,
      sent.authScope,
      [...scopes].join(' '),
    ],
    body: NO_BODY,
  };
}

/**
 * The query of `/_verify`. Envoy appends path and query of the original request (`/_verify/…`),
 * which the caller chose: they are ignored.
 */
function ownQuery(url: string): string {
  return url.startsWith(`${PATH}?`) ? url.slice(PATH.length + 1) : '';
}
