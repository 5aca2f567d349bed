/** Names in `packages/errors`. */
export type AmbiguityReason =
  | 'parameter_ambiguous'
  | 'query_with_signed_body'
  | 'body_with_signed_query'
  | 'body_not_utf8'
  | 'form_type_on_json'
  | 'reply_as_request';

/** A text with two readings. A signature over it proves nothing. */
export class AmbiguousTextError extends Error {
  readonly reason: AmbiguityReason;

  constructor(message: string, reason: AmbiguityReason = 'parameter_ambiguous') {
    super(message);
    this.name = 'AmbiguousTextError';
    this.reason = reason;
  }
}
