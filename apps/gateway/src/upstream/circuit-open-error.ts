/**
 * Why a request was rejected at once. Its log line has no stack: `upstream circuit open` reports
 * the cause once for all of them.
 */
export class CircuitOpenError extends Error {
  constructor() {
    super('The service has stopped answering.');
    this.name = 'CircuitOpenError';
  }
}
