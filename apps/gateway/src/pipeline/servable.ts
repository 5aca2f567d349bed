/**
 * Rejects requests that no route can serve, before any other check. This needs no credential,
 * because it does not disclose routes.
 */
import type { FailureReasonName } from '@gatehouse/errors';
import { ApiError } from '@gatehouse/errors';
import { messageProblem } from '@gatehouse/server';

import type { Exchange } from './exchange.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const served: ReadonlySet<string> = new Set(METHODS);

type Checked = Pick<Exchange, 'message' | 'method'>;

export function assertServedMethod({ message, method }: Checked): undefined {
  if (!served.has(method) || message.url === '*') {
    throw new ApiError('method_not_allowed', {
      headers: { Allow: METHODS.join(', ') },
    });
  }
}

/** Clients that offer HTTP/2 continue with HTTP/1.1 if the server ignores this (RFC 9110 §7.8). */
export function assertNoUpgrade({ message: { headers } }: Checked): undefined {
  const { upgrade } = headers;
  if (upgrade !== undefined && upgrade.trim().toLowerCase() !== 'h2c') {
    throw refusal('upgrade_not_accepted', 'Upgrade', 'is not accepted here');
  }
}

export function assertPlainBody({ message: { headers } }: Checked): undefined {
  if (headers['content-encoding'] !== undefined) {
    throw new ApiError('unsupported_media_type', {
      message: 'Send the body without an encoding.',
    });
  }
}

/** Rejects messages that two servers could read differently. */
export function assertUnambiguous({ message }: Checked): undefined {
  const problem = messageProblem(message);
  if (problem !== undefined) {
    throw refusal(problem.reason, problem.property, problem.message);
  }
}

/** Also closes the connection, because the boundary to the next request may be unclear. */
function refusal(reason: FailureReasonName, property: string, message: string): ApiError {
  return new ApiError('illegal_argument', {
    message: `${property}: ${message}`,
    result: [{ property, message }],
    headers: { Connection: 'close' },
    reason,
  });
}
