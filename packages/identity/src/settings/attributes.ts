/** Claims of users that operators declare: their names and types, and the scope that releases them. */
import { z } from 'zod';
import { parseRecord, RejectedChangeError } from '../records/record.ts';

/** Every ID token and internal token can contain the attributes, so their size is limited. */
const MAXIMUM_BYTES = 4096;

/** Claims with a meaning of their own (RFC 7519, RFC 9068, OpenID Connect Core, this server). */
const reserved: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'azp', 'nonce', 'auth_time', 'acr', 'amr'],
  ...['at_hash', 'c_hash', 's_hash', 'sid', 'cnf', 'act', 'client_id', 'scope', 'org', 'roles'],
  ...['groups', 'name', 'given_name', 'family_name', 'preferred_username', 'updated_at'],
  ...['email', 'email_verified', 'active', 'username', 'token_type', 'authorization_details'],
]);

const value = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

type Value = z.infer<typeof value>;

/** The attributes of a user, by name. */
export const attributesSchema = z
  .record(z.string(), value)
  .refine(
    (attributes) => Buffer.byteLength(JSON.stringify(attributes)) <= MAXIMUM_BYTES,
    `must not be larger than ${MAXIMUM_BYTES} bytes`,
  );

export type Attributes = Readonly<z.infer<typeof attributesSchema>>;

/** `userAttributes` of the bootstrap file. */
export const attributeDeclarations = z.record(
  z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,62}$/, 'must be lower-case letters, digits and _')
    .refine((name) => !reserved.has(name), 'is the name of another claim'),
  z.strictObject({
    type: z.enum(['string', 'number', 'boolean', 'strings']),
    /** ID tokens and userinfo contain the attribute if this scope is granted. */
    scope: z.enum(['profile', 'email', 'groups']),
  }),
);

export type AttributeDeclarations = Readonly<z.infer<typeof attributeDeclarations>>;

function typeOf(given: Value) {
  return Array.isArray(given) ? 'strings' : typeof given;
}

/** @throws RejectedChangeError if an attribute is not declared, or has another type */
export function assertAttributes(attributes: Attributes, declared: AttributeDeclarations): void {
  for (const [name, given] of Object.entries(attributes)) {
    const { type } = declarationOf(name, declared);
    if (typeOf(given) !== type) {
      throw new RejectedChangeError(`The attribute ${name} must be of the type ${type}.`);
    }
  }
}

/**
 * The value of an attribute that an operator enters. Texts of a list are separated by commas.
 *
 * @throws RejectedChangeError if the attribute is not declared, or has another type
 */
export function readAttribute(
  name: string,
  entered: string,
  declared: AttributeDeclarations,
): Value {
  const { type } = declarationOf(name, declared);
  if (type === 'strings') {
    return entered.split(',').map((each) => each.trim());
  }
  const read = type === 'string' ? entered : (parseRecord(value, entered) ?? '');
  assertAttributes({ [name]: read }, declared);
  return read;
}

function declarationOf(name: string, declared: AttributeDeclarations) {
  const declaration = Object.hasOwn(declared, name) ? declared[name] : undefined;
  if (declaration === undefined) {
    throw new RejectedChangeError(
      `The attribute ${name} is not declared. Declare it in userAttributes: gatehouse bootstrap apply FILE`,
    );
  }
  return declaration;
}
