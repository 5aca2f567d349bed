import type { IncomingMessage } from 'node:http';
import { observedRequest } from '@gatehouse/server';
import { currentContext } from '../patches/current-context.ts';

/** A code or token that can be redeemed once: its value and the key of its record. */
export interface Redeemable {
  readonly id: string;
  readonly key: string;
}

/** Decides single use of one kind of credential, atomically in the store and across processes. */
export interface SingleUse {
  /** Whether this request may redeem it. */
  claim(redeemable: Redeemable, secondsToLive: number): Promise<boolean>;
  /** Whether it was redeemed before this request arrived. Then two parties hold it. */
  isRedeemed(redeemable: Redeemable): Promise<boolean>;
  /**
   * Counts a presentation of an unused credential, before its PKCE verifier and other parameters
   * are validated.
   *
   * @throws InvalidGrant after too many presentations
   */
  assertMayPresent?(redeemable: Redeemable): Promise<void>;
}

/** A single use that distinguishes a use whose reply was sent. */
export interface RepliedUse extends SingleUse {
  /** Marks the credentials that this request redeemed. */
  complete(request: IncomingMessage): Promise<void>;
}

export const claimKey = (recordKey: string) => `claimed:${recordKey}`;

/** The guarded record and its claim may be written a moment apart. */
export const MARGIN_SECONDS = 60;

/** The arrival of this request in epoch milliseconds; undefined outside a request. */
export function receivedAt(): number | undefined {
  const context = currentContext();
  return context && observedRequest(context.req).receivedAt;
}
