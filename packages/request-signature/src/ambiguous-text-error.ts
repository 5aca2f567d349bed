/** The text could be read in two ways, so a signature over it proves nothing. Answered with 400 `ambiguous_request`. */
export class AmbiguousTextError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AmbiguousTextError';
  }
}
