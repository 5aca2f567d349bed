import { type CommandInput, flag, type Option, text, texts } from '../command-line/command.ts';

/** The options of `users add` and `users change`. */
export const userOptions = {
  name: { type: 'string', description: 'Display name.' },
  'given-name': { type: 'string', description: 'Given name, for applications.' },
  'family-name': { type: 'string', description: 'Family name, for applications.' },
  email: { type: 'string', description: 'Email address. An empty value removes it.' },
  'email-verified': {
    type: 'boolean',
    description: 'You confirmed that the address belongs to the user.',
  },
  role: {
    type: 'string',
    multiple: true,
    description: 'Role in applications, as free text. Replaces all roles.',
  },
  'add-role': { type: 'string', multiple: true, description: 'Role to add to the existing ones.' },
  'remove-role': { type: 'string', multiple: true, description: 'Role to remove.' },
} as const satisfies Readonly<Record<string, Option>>;

/** The options as members of a user in a bootstrap file. */
export function profileFromOptions({ options }: CommandInput): Readonly<Record<string, unknown>> {
  const members = {
    name: text(options.name),
    givenName: text(options['given-name']),
    familyName: text(options['family-name']),
    email: text(options.email),
    emailVerified: flag(options['email-verified']),
    roles: texts(options.role),
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
