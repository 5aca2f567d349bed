import { type IllegalArgument, illegalArgument } from '@gatehouse/api-envelope';
import { z } from 'zod';
import { type Device, deviceIdPattern } from './device.ts';
import type { Devices } from './devices.ts';

export interface CreateDeviceDependencies {
  readonly devices: Devices;
  readonly generateId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const MAX_NAME_LENGTH = 200;
const MAX_PRODUCT_ID_LENGTH = 64;
const MAX_CONFIGURATION_ENTRIES = 100;
const MAX_CONFIGURATION_KEY_LENGTH = 64;
const MAX_CONFIGURATION_VALUE_LENGTH = 4096;

/** `null` counts as left out. Members that are not here, the server's own among them, are ignored. */
const payload = z.object(
  {
    id: z
      .string('must be a text')
      .regex(deviceIdPattern, 'must be 1 to 64 characters of 0-9, A-Z, a-z, _ and -')
      .nullish(),
    name: text(MAX_NAME_LENGTH),
    productId: text(MAX_PRODUCT_ID_LENGTH),
    productName: text(MAX_NAME_LENGTH).nullish(),
    configuration: z
      .custom<Readonly<Record<string, string>>>(
        isConfiguration,
        `must be an object with at most ${MAX_CONFIGURATION_ENTRIES} text values`,
      )
      .nullish(),
  },
  'must be a JSON object',
);

/**
 * Creates a device from a request body (specification: "Device creation payload").
 *
 * @throws ApiError `illegal_argument` naming every wrong member, `duplicate_key`
 */
export async function createDevice(
  body: unknown,
  dependencies: CreateDeviceDependencies,
): Promise<Device> {
  const parsed = payload.safeParse(body);
  if (!parsed.success) {
    throw illegalArgument(parsed.error.issues.map(toIllegalArgument));
  }
  const { id, name, productId, productName, configuration } = parsed.data;
  return dependencies.devices.add({
    id: id ?? dependencies.generateId(),
    name,
    productId,
    productName: productName ?? undefined,
    configuration: configuration ?? {},
    createTime: dependencies.now(),
  });
}

function text(maxLength: number) {
  return z
    .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a text') })
    .refine((value) => value.trim() !== '', 'must not be blank')
    .max(maxLength, `must have at most ${maxLength} characters`)
    .refine(isStorable, 'must not contain control characters or broken Unicode');
}

/** NUL and lone surrogates do not survive every database unchanged; other control characters forge lines. */
function isStorable(value: string): boolean {
  return !/\p{Cc}/u.test(value) && value.isWellFormed();
}

function isConfiguration(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return false;
  }
  const entries = Object.entries(value);
  return (
    entries.length <= MAX_CONFIGURATION_ENTRIES &&
    entries.every(
      ([key, entry]) =>
        key !== '__proto__' &&
        key.trim() !== '' &&
        key.length <= MAX_CONFIGURATION_KEY_LENGTH &&
        isStorable(key) &&
        typeof entry === 'string' &&
        entry.length <= MAX_CONFIGURATION_VALUE_LENGTH &&
        !entry.includes('\0') &&
        entry.isWellFormed(),
    )
  );
}

function toIllegalArgument(issue: z.core.$ZodIssue): IllegalArgument {
  return { property: issue.path.map(String).join('.') || 'body', message: issue.message };
}
