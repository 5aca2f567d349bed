/** The database is locked, full, unreadable or unreachable. The request fails closed: 503, never 2xx. */
export class DatabaseUnavailable extends Error {
  /** Whether it still reads but accepts no write: its disk is full, or it is read-only. */
  readonly refusesWrites: boolean;

  constructor(
    cause: unknown,
    { refusesWrites = false }: { readonly refusesWrites?: boolean } = {},
  ) {
    super('The database is unavailable.', { cause });
    this.name = 'DatabaseUnavailable';
    this.refusesWrites = refusesWrites;
  }
}
