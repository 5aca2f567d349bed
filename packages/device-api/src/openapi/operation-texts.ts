import type { DescribedOperation } from './described-route.ts';

export interface OperationText {
  readonly tag: (typeof tags)[number]['name'];
  readonly summary: string;
  readonly description?: string;
  /** Whether the reply has texts for people, which `Accept-Language` selects. */
  readonly hasTexts?: true;
}

/** The groups of operations, in the order of the document. */
export const tags = [
  { name: 'Devices', description: 'Devices of the organization of the caller.' },
  { name: 'Tags', description: 'Tags of a device, one for each key.' },
  { name: 'Logs', description: 'Log records of a device.' },
  { name: 'Products', description: 'Products, which devices share.' },
  { name: 'Tokens', description: 'Tokens for clients that sign requests.' },
  { name: 'Gateway', description: 'Documents that need no credential.' },
] as const;

/** The compiler reports an operation without a text. */
export const operationTexts: Readonly<Record<DescribedOperation, OperationText>> = {
  'device.list': {
    hasTexts: true,
    tag: 'Devices',
    summary: 'List devices',
    description: 'Returns one page. The header `X-Total-Count` has the number of all devices.',
  },
  'device.query': {
    hasTexts: true,
    tag: 'Devices',
    summary: 'Query devices',
    description: 'Returns one page.',
  },
  'device.count': { tag: 'Devices', summary: 'Count devices' },
  'device.deploy-batch': {
    tag: 'Devices',
    summary: 'Deploy several devices',
    description: 'Send up to 1000 ids. The reply reports the result of each one.',
  },
  'device.delete-batch': {
    tag: 'Devices',
    summary: 'Delete several devices',
    description: 'Send up to 1000 ids. The reply reports the result of each one.',
  },
  'device.detail': { hasTexts: true, tag: 'Devices', summary: 'Get a device' },
  'device.create': {
    hasTexts: true,
    tag: 'Devices',
    summary: 'Create a device',
    description: 'The first device of a product creates the product.',
  },
  'device.create-batch': {
    tag: 'Devices',
    summary: 'Create up to 10,000 devices',
    description:
      'The service checks each device separately. The reply reports the invalid ones, and the others are created.',
  },
  'device.update': {
    hasTexts: true,
    tag: 'Devices',
    summary: 'Change a device',
    description: 'Changes only the members in the body. `null` restores the value of the product.',
  },
  'device.delete': {
    tag: 'Devices',
    summary: 'Delete a device',
    description: 'Only a device in the state `notActive` can be deleted.',
  },
  'device.deploy': {
    hasTexts: true,
    tag: 'Devices',
    summary: 'Deploy a device',
    description: 'The device becomes `offline` or `online`.',
  },
  'device.undeploy': {
    hasTexts: true,
    tag: 'Devices',
    summary: 'Undeploy a device',
    description: 'The device becomes `notActive`.',
  },
  'tag.list': { tag: 'Tags', summary: 'List the tags of a device' },
  'tag.set': {
    tag: 'Tags',
    summary: 'Set tags of a device',
    description:
      'Send one tag or an array. An existing key gets the new value. Returns all tags of the device.',
  },
  'tag.remove': {
    tag: 'Tags',
    summary: 'Remove a tag from a device',
    description: '`tagId` is the id of the tag or its key.',
  },
  'log.list': {
    hasTexts: true,
    tag: 'Logs',
    summary: 'List log records of a device',
    description:
      'Returns one page, the newest records first. The header `X-Total-Count` has the number of all records.',
  },
  'log.query': {
    hasTexts: true,
    tag: 'Logs',
    summary: 'Query log records of a device',
    description: 'Returns one page, the newest records first.',
  },
  'log.report': {
    hasTexts: true,
    tag: 'Logs',
    summary: 'Report log records of a device',
    description:
      'Send one record, or an array of up to 1000 records. An array is stored completely or not at all.',
  },
  'product.query': {
    hasTexts: true,
    tag: 'Products',
    summary: 'Query products',
    description: 'Returns one page.',
  },
  'product.detail': { hasTexts: true, tag: 'Products', summary: 'Get a product' },
  'product.update': {
    hasTexts: true,
    tag: 'Products',
    summary: 'Change a product',
    description: 'A change applies to every device that does not have its own value.',
  },
  'access-token.issue': {
    tag: 'Tokens',
    summary: 'Issue an X-Access-Token',
    description: 'Accepts only signed requests.',
  },
};
