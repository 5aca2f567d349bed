import { deviceIdPattern } from '../device-schemas.ts';
import type { Json } from './component.ts';

/** A GET has no body, so its query is in parameters. */
const query: readonly Json[] = [
  integer('pageIndex', 'Number of the page. Default: the first one.', 0),
  integer('pageSize', 'Default: 25. More than 1000 means 1000.', 1),
  integer('firstPageIndex', 'Number of the first page. Default: 0.', 0),
  integer('total', 'The total of an earlier page. Gatehouse then does not count again.', 0),
  text(
    'where',
    'The filter: `state = online and name like %pump%`. `terms[0].column`, `terms[0].termType` and `terms[0].value` are also accepted.',
  ),
  text('orderBy', 'The order: `state desc,name`. Default: the newest first.'),
  text('includes', 'Columns to return: `id,name`. Default: all.'),
  text('excludes', 'Columns to omit: `id,name`.'),
];

const others: readonly Json[] = [
  inPath('deviceId', 'The id of a device.', { type: 'string', pattern: deviceIdPattern.source }),
  inPath('productId', 'The id of a product.', { type: 'string' }),
  inPath('tagId', 'The id or the key of a tag.', { type: 'string' }),
  {
    name: 'allOrNothing',
    in: 'query',
    description:
      'Whether one invalid device rejects the whole request. A signed request of version 1 has no query. It uses the member of the body.',
    schema: { type: 'boolean' },
  },
  {
    name: 'Accept-Language',
    in: 'header',
    description: 'The language of each `text`: English or Chinese (`zh`).',
    schema: { type: 'string' },
  },
];

export const queryParameterNames: readonly string[] = query.map(({ name }) => String(name));

/** All parameters as components, by name. */
export const parameters: Json = Object.fromEntries(
  [...others, ...query].map((parameter) => [parameter.name, parameter]),
);

function inPath(name: string, description: string, schema: Json): Json {
  return { name, in: 'path', required: true, description, schema };
}

function integer(name: string, description: string, minimum: number): Json {
  const schema = { type: 'integer', format: 'int64', minimum };
  return { name, in: 'query', description, schema };
}

function text(name: string, description: string): Json {
  return { name, in: 'query', description, schema: { type: 'string' } };
}
