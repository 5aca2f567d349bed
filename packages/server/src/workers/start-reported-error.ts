/** The app cannot start. A worker has already printed the reason. */
export class StartReportedError extends Error {
  constructor() {
    super('No worker could start.');
    this.name = 'StartReportedError';
  }
}
