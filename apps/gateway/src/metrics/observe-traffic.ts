import type { RequestListener } from 'node:http';
import type { Identity } from '@gatehouse/identity';
import {
  type AddressMatcher,
  addressGroup,
  createRequestRecorder,
  type Logger,
  observeRequests,
  type RequestObserver,
  type RequestRecorder,
  type Tracer,
} from '@gatehouse/server';
import { clientAddress } from '../http/client-address.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

export interface ObservedTraffic extends Pick<RequestRecorder, 'recordMalformed'> {
  readonly observe: (listener: RequestListener) => RequestListener;
}

/** Gives each request its id, log line, metrics, trace and entry in the request log. */
export function observeTraffic(
  dependencies: {
    readonly identity: Pick<Identity, 'requestLog'>;
    readonly logger: Logger;
    readonly metrics: Pick<GatewayMetrics, 'requested'>;
    readonly tracer?: Tracer | undefined;
  },
  isTrustedProxy: AddressMatcher,
): ObservedTraffic {
  const { identity, logger, metrics, tracer } = dependencies;
  const recorder = createRequestRecorder({
    app: 'gateway',
    addressGroupOf: (message) => addressGroup(clientAddress(message, isTrustedProxy)),
    record: identity.requestLog.record,
  });
  const observer: RequestObserver = (line, message) => {
    metrics.requested(line, message);
    recorder.observe(line, message);
  };
  const observing = { leavesHeaderToListener: true, observer, isTrustedProxy, tracer };
  return {
    observe: (listener) => observeRequests(listener, logger, observing),
    recordMalformed: recorder.recordMalformed,
  };
}
