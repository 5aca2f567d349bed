import type { IncomingMessage } from 'node:http';
import type { VerifiedRequest } from '../authentication/authenticator.ts';
import type { Reply } from '../http/reply.ts';

/** An operation that the gateway answers itself, for a caller who is verified and may. */
export type LocalOperation = (request: {
  readonly message: IncomingMessage;
  readonly verified: VerifiedRequest;
  /** The peer, or who a trusted proxy says it is. */
  readonly clientAddress: string;
}) => Promise<Reply>;
