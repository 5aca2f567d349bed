/** A change that an operator asked for and that is not made, with the reason and what to do instead. */
export class RefusedChangeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RefusedChangeError';
  }
}
