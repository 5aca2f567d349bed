/** Organizations, which own clients, users and devices. */
import {
  memberFilter,
  newOrganization,
  organizationChange,
  organizationView,
} from '@gatehouse/operators';
import { z } from 'zod';
import { operation, pageOf, parse } from './operation.ts';

const organization = organizationView.meta({ id: 'Organization' });
const common = { tag: 'Organizations' } as const;
const one = { ...common, path: '/organizations/{organizationId}' } as const;

const creation = newOrganization.extend({
  reusesId: z
    .boolean()
    .default(false)
    .describe('Allow the id of a removed organization. The new one gets its devices.'),
});

export const organizationOperations = [
  operation({
    ...{ ...common, name: 'organizations.list', method: 'GET', path: '/organizations' },
    ...{ scope: 'operator:read', summary: 'List organizations' },
    query: memberFilter.pick({ search: true, cursor: true, limit: true }),
    reply: pageOf(organization),
    run: ({ operators, query }) => operators.organizations.list(query),
  }),
  operation({
    ...{ ...common, name: 'organizations.create', method: 'POST', path: '/organizations' },
    ...{ scope: 'operator:write', summary: 'Create an organization', isCreation: true },
    body: creation,
    example: { id: 'acme', name: 'Acme' },
    reply: organization,
    location: ({ id }: { readonly id: string }) => `/organizations/${encodeURIComponent(id)}`,
    run({ operators, operator, body }) {
      const { reusesId, ...definition } = parse(creation, body);
      return operators.organizations.create(operator, definition, { reusesId });
    },
  }),
  operation({
    ...{ ...one, name: 'organizations.read', method: 'GET', scope: 'operator:read' },
    summary: 'Read an organization',
    reply: organization,
    run: ({ operators, path }) => operators.organizations.read(path.organizationId),
  }),
  operation({
    ...{ ...one, name: 'organizations.change', method: 'PATCH', scope: 'operator:write' },
    ...{ summary: 'Change an organization', isConditional: true },
    body: organizationChange,
    example: { name: 'Acme Devices' },
    reply: organization,
    run: ({ operators, operator, path, body, condition }) =>
      operators.organizations.change(operator, path.organizationId, body, condition),
  }),
  operation({
    ...{ ...common, name: 'organizations.preview-removal', method: 'GET' },
    path: '/organizations/{organizationId}/removal',
    scope: 'operator:read',
    summary: 'Preview the removal of an organization',
    reply: z.object({
      organizationId: z.string(),
      clientIds: z.array(z.string()),
      users: z.number(),
    }),
    run: ({ operators, path }) => operators.organizations.previewRemoval(path.organizationId),
  }),
  operation({
    ...{ ...one, name: 'organizations.remove', method: 'DELETE', scope: 'operator:write' },
    ...{ summary: 'Remove an organization with its clients and users', isConditional: true },
    reply: z.object({ organizationId: z.string(), clients: z.number(), users: z.number() }),
    run: ({ operators, operator, path, condition }) =>
      operators.organizations.remove(operator, path.organizationId, condition),
  }),
];
