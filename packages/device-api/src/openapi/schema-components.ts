import { z } from 'zod';
import {
  batchDevice,
  batchItemResult,
  batchRequest,
  batchResult,
  idResult,
  idsResult,
  problem,
} from '../batch-schemas.ts';
import {
  deviceChangesRequest,
  deviceListItem,
  devicePage,
  deviceRecord,
  deviceStateLabel,
  deviceTypeLabel,
  newDeviceRequest,
} from '../device-schemas.ts';
import { queryRequest, querySort, queryTerm } from '../list-schemas.ts';
import { logListItem, logPage, logRecord, logRecordRequest, logTypeLabel } from '../log-schemas.ts';
import {
  productChangesRequest,
  productListItem,
  productPage,
  productRecord,
} from '../product-schemas.ts';
import { operations } from '../routes.ts';
import { tagRecord, tagRequest } from '../tag-schemas.ts';
import { component, type Json } from './component.ts';

/** The schemas of all operations. A schema with a name is a component; the others are inline. */
export interface OperationSchemas {
  readonly components: Readonly<Record<string, Json>>;
  requestOf(schema: z.ZodType): Json;
  replyOf(schema: z.ZodType): Json;
}

const namedRequests = {
  Query: queryRequest,
  QueryTerm: queryTerm,
  QuerySort: querySort,
  NewDevice: newDeviceRequest,
  BatchRequest: batchRequest,
  DeviceChanges: deviceChangesRequest,
  NewTag: tagRequest,
  NewLogRecord: logRecordRequest,
  ProductChanges: productChangesRequest,
};

const namedReplies = {
  Device: deviceRecord,
  DeviceListItem: deviceListItem,
  DevicePage: devicePage,
  DeviceState: deviceStateLabel,
  DeviceType: deviceTypeLabel,
  Tag: tagRecord,
  LogRecord: logRecord,
  LogListItem: logListItem,
  LogPage: logPage,
  LogType: logTypeLabel,
  Product: productRecord,
  ProductListItem: productListItem,
  ProductPage: productPage,
  BatchResult: batchResult,
  BatchItemResult: batchItemResult,
  IdsResult: idsResult,
  IdResult: idResult,
  Problem: problem,
};

/** @param more schemas of operations outside the device service */
export function createOperationSchemas(more: {
  readonly request: z.ZodType;
  readonly reply: z.ZodType;
}): OperationSchemas {
  const both = [...operations, more];
  const requests = convert(
    'input',
    namedRequests,
    both.map(({ request }) => request),
  );
  const replies = convert(
    'output',
    namedReplies,
    both.map(({ reply }) => reply),
  );
  return {
    components: { ...requests.components, ...replies.components },
    requestOf: requests.schemaOf,
    replyOf: replies.schemaOf,
  };
}

function convert(
  io: 'input' | 'output',
  named: Readonly<Record<string, z.ZodType>>,
  used: readonly (z.ZodType | undefined)[],
) {
  const registry = z.registry<{ readonly id: string }>();
  for (const [id, schema] of Object.entries(named)) {
    registry.add(schema, { id });
  }
  for (const [index, schema] of used.entries()) {
    if (schema !== undefined && !registry.has(schema)) {
      registry.add(schema, { id: `inline-${index}` });
    }
  }
  const { schemas } = z.toJSONSchema(registry, {
    io,
    uri: (id) => component('schemas', id).$ref,
    // The schemas that only a function can check have the rest of their description as metadata.
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === batchDevice) {
        Object.assign(jsonSchema, component('schemas', 'NewDevice'));
      }
      simplify(jsonSchema as Record<string, unknown>);
    },
  });
  const plain = (id: string): Json => {
    const { $schema: _schema, $id: _id, ...rest } = schemas[id] ?? {};
    return rest;
  };
  return {
    components: Object.fromEntries(Object.keys(named).map((id) => [id, plain(id)])),
    schemaOf(schema: z.ZodType): Json {
      const id = registry.get(schema)?.id ?? '';
      return Object.hasOwn(named, id) ? component('schemas', id) : plain(id);
    },
  };
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
  delete schema.readOnly;
  if (schema.type === 'integer') {
    schema.format = 'int64';
    if (schema.minimum === Number.MIN_SAFE_INTEGER) {
      delete schema.minimum;
    }
    if (schema.maximum === Number.MAX_SAFE_INTEGER) {
      delete schema.maximum;
    }
  }
}
