import type { IncomingMessage } from 'node:http';
import type { VerifiedRequest } from '../authentication/authenticator.ts';
import type { Reply } from '../http/reply.ts';

/** An operation that the gateway implements itself. Its caller is authenticated and authorized. */
export type LocalOperation = (request: {
  readonly message: IncomingMessage;
  readonly verified: VerifiedRequest;
  /** The address of the peer, or the one that a trusted proxy reports. */
  readonly clientAddress: string;
}) => Promise<Reply>;
