/** The database is locked, full, unreadable or unreachable. The request fails with 503. */
export class DatabaseUnavailableError extends Error {
  /** The database still reads, but its disk is full or it is read-only. */
  readonly refusesWrites: boolean;

  constructor(
    cause: unknown,
    { refusesWrites = false }: { readonly refusesWrites?: boolean } = {},
  ) {
    super('The database is unavailable.', { cause });
    this.name = 'DatabaseUnavailableError';
    this.refusesWrites = refusesWrites;
  }
}
