/**
 * Gatehouse rejects a change that an operator requested. The message contains reason and remedy.
 */
export class RejectedChangeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RejectedChangeError';
  }
}
