import type { ReplayGuard } from '@gatehouse/identity';
import type { Signer } from '../authentication/authenticator.ts';

/**
 * Prevents reflection (CWE-301): the gateway marks its own signatures as used, so that it accepts
 * no reply as a request. The result of the claim does not matter: equal replies of one millisecond
 * share a signature.
 */
export function claimReplies({
  replayGuard,
  signatureToleranceMilliseconds,
}: {
  readonly replayGuard: ReplayGuard;
  readonly signatureToleranceMilliseconds: number;
}) {
  return (signature: string, timestamp: number, { clientId }: Signer) =>
    replayGuard.bind({
      clientId,
      signature,
      method: 'reply',
      target: '',
      repeatable: false,
      liveUntil: timestamp + signatureToleranceMilliseconds,
    });
}
