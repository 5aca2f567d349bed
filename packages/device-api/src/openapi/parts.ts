/** What OpenAPI documents of Gatehouse have in common: references, schemas and the errors. */
import { z } from 'zod';

/** An object of the document. */
export type Json = Readonly<Record<string, unknown>>;

export function component(kind: string, name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

export function headersNamed(...names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, component('headers', name)]));
}

/** @param scopes what each one allows */
export function oauthFlows(
  authorizationServerUrl: string,
  scopes: Readonly<Record<string, string>>,
) {
  const tokenUrl = `${authorizationServerUrl}/token`;
  const authorizationUrl = `${authorizationServerUrl}/authorize`;
  return {
    clientCredentials: { tokenUrl, scopes },
    authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes },
  };
}

/** Each error code with its HTTP status and its message. */
export type ErrorCatalogue = Readonly<
  Record<string, { readonly status: number; readonly message: string }>
>;

/**
 * One response for each status of the catalog, and one for any error.
 *
 * @param contentOf the content of a status, or of any
 */
export function errorResponses(
  catalogue: ErrorCatalogue,
  contentOf: (status?: number, errors?: ReadonlyMap<string, string>) => Json,
): Json {
  const byStatus = Map.groupBy(Object.entries(catalogue), ([, { status }]) => status);
  const responses = [...byStatus].map(([status, entries]) => {
    const errors = new Map(entries.map(([code, { message }]) => [code, message]));
    const headers = headersNamed(
      'X-Request-Id',
      ...(status === 401 || status === 403 ? ['WWW-Authenticate'] : []),
      ...(status === 429 || status === 503 ? ['Retry-After'] : []),
    );
    const description = [...errors].map(([code, message]) => `\`${code}\`: ${message}`);
    const content = contentOf(status, errors);
    return [`Error${status}`, { description: description.join('\n\n'), headers, content }];
  });
  const other = { description: 'Any other error of the catalog.', content: contentOf() };
  return {
    ...Object.fromEntries(responses),
    Error: { ...other, headers: headersNamed('X-Request-Id') },
  };
}

/** Converts schemas by name. A schema with an id becomes a component. The others are inline. */
export function convert(
  io: 'input' | 'output',
  schemas: readonly (readonly [name: string, schema: z.ZodType | undefined])[],
) {
  const used = schemas.flatMap(([name, schema]) => (schema === undefined ? [] : [[name, schema]]));
  const converted = z.toJSONSchema(z.object(Object.fromEntries(used)), {
    io,
    // The schemas that only a function can check have the rest of their description as metadata.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema as Record<string, unknown>),
  });
  const { properties, $defs = {} } = JSON.parse(
    JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as { readonly properties: Record<string, Json>; readonly $defs?: Record<string, Json> };
  return { byName: properties, components: $defs };
}

/**
 * Removes what only describes TypeScript, and joins nested alternatives. Epoch milliseconds need more
 * than 32 bits.
 */
function simplify(schema: Record<string, unknown>): void {
  if (Array.isArray(schema.anyOf)) {
    schema.anyOf = schema.anyOf.flatMap((option: Json) =>
      Object.keys(option).join() === 'anyOf' ? option.anyOf : [option],
    );
  }
  delete schema.id;
  delete schema.readOnly;
  if (schema.type === 'integer') {
    schema.format = 'int64';
    for (const bound of ['minimum', 'maximum']) {
      if (Math.abs(Number(schema[bound])) === Number.MAX_SAFE_INTEGER) {
        delete schema[bound];
      }
    }
  }
}
