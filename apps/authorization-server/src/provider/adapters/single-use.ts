import { observedRequest } from '@gatehouse/http-server';
import { currentContext } from '../patches/current-context.ts';

/** A code or token that is redeemed once: its value, and the key its record is kept under. */
export interface Redeemable {
  readonly id: string;
  readonly key: string;
}

/** How one kind of credential is used up: atomic in the store, across processes. */
export interface SingleUse {
  /** Whether the request at hand may redeem it. */
  claim(redeemable: Redeemable, secondsToLive: number): Promise<boolean>;
  /** Whether it was used up before the request at hand came: then two parties hold it. */
  isRedeemed(redeemable: Redeemable): Promise<boolean>;
  /**
   * Counts a presentation of a credential that is not used up, before anything that it is presented with is checked.
   *
   * @throws InvalidGrant when it was presented too often
   */
  assertMayPresent?(redeemable: Redeemable): Promise<void>;
}

export const claimKey = (recordKey: string) => `claimed:${recordKey}`;

/** The guarded record and its claim may be written a moment apart. */
export const MARGIN_SECONDS = 60;

/** Epoch milliseconds at which the request at hand came; undefined outside a request. */
export function receivedAt(): number | undefined {
  const context = currentContext();
  return context && observedRequest(context.req).receivedAt;
}
