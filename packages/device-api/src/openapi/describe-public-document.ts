import { component, type Json } from './component.ts';

/** A document that the gateway serves without a credential. */
export interface DescribedDocument {
  readonly operation: string;
  readonly path: string;
  readonly summary: string;
  /** The JSON Schema of the document. */
  readonly schema: Json;
}

export function describePublicDocument({ operation, summary, schema }: DescribedDocument): Json {
  return {
    operationId: operation,
    tags: ['Gateway'],
    summary,
    security: [],
    responses: {
      200: {
        description: 'The document.',
        headers: { 'X-Request-Id': component('headers', 'X-Request-Id') },
        content: { 'application/json': { schema } },
      },
      429: component('responses', 'Error429'),
      default: component('responses', 'Error'),
    },
  };
}
