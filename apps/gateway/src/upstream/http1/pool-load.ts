/** The load of the connections to a service at this moment. */
export interface PoolLoad {
  readonly running: number;
  /** Waiting for a connection. */
  readonly pending: number;
  readonly connected: number;
  /** Of the connected ones. */
  readonly free: number;
}

export function addLoads(one: PoolLoad, other: PoolLoad): PoolLoad {
  return {
    connected: one.connected + other.connected,
    free: one.free + other.free,
    running: one.running + other.running,
    pending: one.pending + other.pending,
  };
}
