/** A JSON Schema of the OpenAPI document. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

/** The last part of a reference. */
export function nameOf({ $ref = '' }: Schema): string {
  return $ref.split('/').at(-1) ?? '';
}

/** The type of a value in words, with links to the schemas of the page. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    return `[${nameOf(schema)}](#${nameOf(schema).toLowerCase()})`;
  }
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map(typeOf).join(' or ');
  }
  if (schema.const !== undefined) {
    return `\`${String(schema.const)}\``;
  }
  if (schema.enum !== undefined) {
    return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  }
  if (schema.type === 'array' && schema.items !== undefined) {
    return `array of ${typeOf(schema.items)}${limit(schema.maxItems)}`;
  }
  const types = [schema.type ?? 'any value'].flat().join(' or ');
  return types + limit(schema.maxLength ?? schema.maxProperties);
}

/** One row for each member: name, type and meaning. */
export function memberRows({ properties = {}, required = [] }: Schema): readonly string[] {
  return Object.entries(properties).map(([name, member]) => {
    const need = required.includes(name) ? 'yes' : '';
    return `| \`${name}\` | ${cell(typeOf(member))} | ${need} | ${cell(meaningOf(member))} |`;
  });
}

function meaningOf({ description, pattern }: Schema): string {
  const characters = pattern === undefined ? [] : [`Matches \`${pattern}\`.`];
  return [...(description === undefined ? [] : [description]), ...characters].join(' ');
}

function limit(most: number | undefined): string {
  return most === undefined ? '' : ` (at most ${most})`;
}

/** A vertical bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
