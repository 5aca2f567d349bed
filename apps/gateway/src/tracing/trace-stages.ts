import { type Tracer, traced } from '@gatehouse/server';
import type { UpgradeDependencies } from '../pipeline/handle-upgrade.ts';

/** Puts each stage of the pipeline that can wait into a span. */
export function traceStages(
  pipeline: UpgradeDependencies,
  tracer: Tracer | undefined,
): UpgradeDependencies {
  if (tracer === undefined) {
    return pipeline;
  }
  const { authenticators, limits, forward, forwardUpgrade, sealReply } = pipeline;
  return {
    ...pipeline,
    authenticators: authenticators.map((authenticator) => ({
      authenticate: traced(tracer, ['authenticate', 'internal'], authenticator.authenticate),
    })),
    limits: {
      ...limits,
      countAddress: traced(tracer, ['limit address', 'internal'], limits.countAddress),
      countClient: traced(tracer, ['limit client', 'internal'], limits.countClient),
    },
    forward: traced(tracer, ['forward', 'call'], forward),
    forwardUpgrade: traced(tracer, ['forward', 'call'], forwardUpgrade),
    sealReply: traced(tracer, ['seal', 'internal'], sealReply),
  };
}
