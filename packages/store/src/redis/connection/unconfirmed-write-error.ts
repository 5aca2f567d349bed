/**
 * The replicas did not acknowledge a write in time. The master has it, but a failover may lose it.
 */
export class UnconfirmedWriteError extends Error {
  constructor(confirmed: number, required: number) {
    super(
      `${confirmed} of ${required} Redis replicas confirmed a write in time. ` +
        'Check that the replicas run and follow the master.',
    );
    this.name = 'UnconfirmedWriteError';
  }
}
