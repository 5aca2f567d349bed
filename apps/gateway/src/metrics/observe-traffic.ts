import type { RequestListener } from 'node:http';
import {
  type AddressMatcher,
  addressGroup,
  createRequestRecorder,
  type Logger,
  observeRequests,
  type RequestObserver,
} from '@gatehouse/http-server';
import type { Identity } from '@gatehouse/identity';
import { clientAddress } from '../http/client-address.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

/** Gives each request its id, log line, metrics and entry in the request log. */
export function observeTraffic(
  dependencies: {
    readonly identity: Pick<Identity, 'requestLog'>;
    readonly logger: Logger;
    readonly metrics: Pick<GatewayMetrics, 'requested'>;
  },
  isTrustedProxy: AddressMatcher,
): (listener: RequestListener) => RequestListener {
  const { identity, logger, metrics } = dependencies;
  const record = createRequestRecorder({
    app: 'gateway',
    addressGroupOf: (message) => addressGroup(clientAddress(message, isTrustedProxy)),
    record: identity.requestLog.record,
  });
  const observer: RequestObserver = (line, message) => {
    metrics.requested(line, message);
    record(line, message);
  };
  const observing = { leavesHeaderToListener: true, observer, isTrustedProxy };
  return (listener) => observeRequests(listener, logger, observing);
}
