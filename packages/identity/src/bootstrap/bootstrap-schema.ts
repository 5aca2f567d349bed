import { z } from 'zod';
import { clientDefinition, clientSchema } from '../clients/client.ts';
import { identifier, text } from '../records/record.ts';
import { brandingSchema, contrastProblems } from '../settings/branding.ts';
import { browserHostSchema } from '../settings/browser-host.ts';
import { lifetimeWarnings } from '../settings/lifetimes.ts';
import { resourceSchema } from '../settings/resource.ts';
import { type SettingsDefinition, settingsMembers } from '../settings/settings.ts';
import { canonicalUsername, userSchema } from '../users/user.ts';

export const organizationSchema = z.strictObject({ id: identifier, name: text(200) });

const bootstrapClientSchema = clientSchema.safeExtend({
  /** Tokens of a key that the file replaces stay valid until they expire. */
  keepTokens: z.boolean().default(false),
});

/** `BOOTSTRAP_FILE`. Rejects unknown members, which can be misspellings of optional ones. */
export const bootstrapSchema = z.strictObject({
  ...settingsMembers,
  resources: distinct(resourceSchema, 'resource', (entry) => entry.resource).default([]),
  browserHosts: distinct(browserHostSchema, 'host', (entry) => entry.host).default([]),
  branding: brandingSchema
    .superRefine((branding, context) => {
      for (const { path, message } of contrastProblems(branding)) {
        context.addIssue({ code: 'custom', path: [...path], message });
      }
    })
    .optional(),
  organizations: distinct(organizationSchema, 'id', (entry) => entry.id).default([]),
  clients: distinct(bootstrapClientSchema, 'clientId', (entry) => entry.clientId).default([]),
  users: distinct(userSchema, 'username', (entry) => canonicalUsername(entry.username)).default([]),
});

/** If two entries had the same name, the second would undo the first at every start. */
function distinct<Entry extends z.ZodType>(
  entry: Entry,
  member: string,
  nameOf: (value: z.infer<Entry>) => string,
) {
  return z.array(entry).superRefine((values, context) => {
    const names = values.map(nameOf);
    names.forEach((name, i) => {
      if (names.indexOf(name) < i) {
        context.addIssue({ code: 'custom', path: [i, member], message: 'is a duplicate' });
      }
    });
  });
}

export type BootstrapDefinition = z.infer<typeof bootstrapSchema>;

const { organizations, clients: _clients, users: _users, ...members } = bootstrapSchema.shape;

/** The schema of each member of the settings, which is replaced as a whole. */
export const settingsSchemas = members;

const withoutDefaults = Object.entries(settingsSchemas).map(([name, type]) => [
  name,
  z.exactOptional(type instanceof z.ZodDefault ? type.unwrap() : type),
]);

/**
 * What a team keeps in version control: neither secure keys nor users. An absent member of the
 * settings is not declared. Images have their content.
 */
export const declarationsSchema = z.strictObject({
  ...(Object.fromEntries(withoutDefaults) as {
    [Name in keyof SettingsDefinition]-?: z.ZodExactOptional<z.ZodType<SettingsDefinition[Name]>>;
  }),
  organizations,
  clients: distinct(clientDefinition, 'clientId', (entry) => entry.clientId).default([]),
});

export type Declarations = Readonly<z.output<typeof declarationsSchema>>;

/**
 * What an operator should know about a valid definition: lifetimes that are longer than usual.
 *
 * @param source how a warning names the file
 */
export function bootstrapWarnings(
  definition: Partial<
    Pick<BootstrapDefinition, 'lifetimes' | 'resources'> & Pick<Declarations, 'clients'>
  > = {},
  source = 'BOOTSTRAP_FILE',
): readonly string[] {
  const { lifetimes, resources = [], clients = [] } = definition;
  const lists = { resources, clients } as const;
  return [
    ...lifetimeWarnings(`${source} `, lifetimes),
    ...Object.entries(lists).flatMap(([list, entries]) =>
      entries.flatMap((entry, i) => lifetimeWarnings(`${source} ${list}.${i}.`, entry.lifetimes)),
    ),
  ];
}
