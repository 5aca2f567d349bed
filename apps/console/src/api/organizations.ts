/** Organizations, which own clients, users and devices. */
import {
  memberFilter,
  newOrganization,
  organizationChange,
  organizationView,
  parseInput,
} from '@gatehouse/operators';
import { z } from 'zod';
import { operation, pageOf } from './operation.ts';

const organization = organizationView.meta({ id: 'Organization' });

const creation = newOrganization.extend({
  reusesId: z
    .boolean()
    .default(false)
    .describe('Allow the id of a removed organization. The new one gets its devices.'),
});

export const organizationOperations = [
  operation('organizations.list', 'GET /organizations', {
    summary: 'List organizations',
    query: memberFilter.pick({ search: true, cursor: true, limit: true }),
    reply: pageOf(organization),
    run: ({ operators, query }) => operators.organizations.list(query),
  }),
  operation('organizations.create', 'POST /organizations', {
    summary: 'Create an organization',
    body: creation,
    example: { id: 'acme', name: 'Acme' },
    reply: organization,
    location: ({ id }: { readonly id: string }) => `/organizations/${encodeURIComponent(id)}`,
    run({ operators, operator, body }) {
      const { reusesId, ...definition } = parseInput(creation, body);
      return operators.organizations.create(operator, definition, { reusesId });
    },
  }),
  operation('organizations.read', 'GET /organizations/{organizationId}', {
    summary: 'Read an organization',
    reply: organization,
    run: ({ operators, path }) => operators.organizations.read(path.organizationId),
  }),
  operation('organizations.change', 'PATCH /organizations/{organizationId}', {
    summary: 'Change an organization',
    body: organizationChange,
    example: { name: 'Acme Devices' },
    reply: organization,
    run: ({ operators, operator, path, body, condition }) =>
      operators.organizations.change(operator, path.organizationId, body, condition),
  }),
  operation('organizations.preview-removal', 'GET /organizations/{organizationId}/removal', {
    summary: 'Preview the removal of an organization',
    reply: z.object({
      organizationId: z.string(),
      clientIds: z.array(z.string()),
      users: z.number(),
    }),
    run: ({ operators, path }) => operators.organizations.previewRemoval(path.organizationId),
  }),
  operation('organizations.remove', 'DELETE /organizations/{organizationId}', {
    summary: 'Remove an organization with its clients and users',
    reply: z.object({ organizationId: z.string(), clients: z.number(), users: z.number() }),
    run: ({ operators, operator, path, condition }) =>
      operators.organizations.remove(operator, path.organizationId, condition),
  }),
];
