import type { Environment } from './environment.ts';

/**
 * Returns whether Kubernetes set a variable for a Service, such as
 * `GATEWAY_PORT=tcp://10.0.0.1:8844` for a Service called `gateway`. Such a variable is no setting
 * of an operator. Kubernetes always sets `GATEWAY_SERVICE_HOST` with it.
 */
export function isServiceLink(name: string, environment: Environment): boolean {
  const service = name.replace(/_PORT$/, '');
  return (
    service !== name &&
    Boolean(environment[`${service}_SERVICE_HOST`]) &&
    /^(?:tcp|udp|sctp):\/\/\S+:\d{1,5}$/.test(environment[name] ?? '')
  );
}
