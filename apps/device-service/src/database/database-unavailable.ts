/** The database is locked, full, unreadable or gone. The request fails closed: 503, never 2xx. */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super('The database is unavailable.', { cause });
    this.name = 'DatabaseUnavailable';
  }
}
