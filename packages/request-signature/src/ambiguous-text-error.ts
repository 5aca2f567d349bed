/** A text with two readings. A signature over it proves nothing. */
export class AmbiguousTextError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AmbiguousTextError';
  }
}
