/**
 * The definition that a server applies to the store when it starts.
 *
 *   bootstrap-source ─▶ load-bootstrap (file, secret files) ─▶ bootstrap-schema ─┐
 *                    └▶ demo (random secrets, stored)       ─▶ bootstrap-schema ─┴▶ apply-bootstrap
 *
 * Not here: deleting records. A definition only adds and changes them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  ConfigurationError,
  type ConfigurationProblem,
  isLoopbackUrl,
  readableIssue,
  type SecretFile,
  toProblems,
} from '@gatehouse/server/configuration';
import type { z } from 'zod';
import { readBrandImages } from '../settings/brand-images.ts';
import { type BootstrapDefinition, bootstrapSchema } from './bootstrap-schema.ts';
import { demoDefinition, demoFile, readOrCreateDemo } from './demo.ts';

/** The settings that select the definition. */
interface BootstrapSettings {
  readonly bootstrapFile: string | undefined;
  readonly dataDirectory: string;
  /** STORE_URL is not set. */
  readonly embedded: boolean;
  /** The public address of the app. */
  readonly publicUrl: string;
  /** Adds the client of the API explorer at this gateway to the demo. */
  readonly gatewayUrl?: string;
}

/**
 * The bootstrap file if it is set. Otherwise, the demo if the store is embedded and the address is
 * a loopback address.
 *
 * @throws ConfigurationError if the file is invalid, or a public address would serve the demo
 */
export function bootstrapDefinition(settings: BootstrapSettings): BootstrapDefinition | undefined {
  const { bootstrapFile, dataDirectory, embedded, publicUrl, gatewayUrl } = settings;
  const isProduction = !isLoopbackUrl(publicUrl);
  if (isProduction && embedded && existsSync(demoFile(dataDirectory))) {
    const message = 'contains the demo client and user, which a public address must not serve';
    throw new ConfigurationError([{ name: 'DATA_DIR', message }]);
  }
  if (bootstrapFile !== undefined) {
    return loadBootstrap(bootstrapFile);
  }
  return embedded && !isProduction
    ? demoDefinition(readOrCreateDemo(dataDirectory), gatewayUrl)
    : undefined;
}

const VARIABLE = 'BOOTSTRAP_FILE';

/** The members that can be read from a file, as `secureKeyFile` and `passwordFile`. */
const secretMembers = {
  clients: 'secureKey',
  users: 'password',
  upstreams: 'clientSecret',
} as const;
/** Conforms to all rules, so that an unreadable file is reported as one problem, not two. */
const unreadableSecret = '-unreadable:QxZ7wK4p9TfR2mVs';

/**
 * Reads a bootstrap file and the files that it names, relative to its folder.
 *
 * @throws ConfigurationError with all problems. If members are invalid, rules between members are
 *   not checked. Messages never quote values
 */
export function loadBootstrap(path: string): BootstrapDefinition {
  return parseBootstrap(bootstrapSchema, readBootstrapJson(path), path);
}

/**
 * The definition in the content of a bootstrap file.
 *
 * @param source how problems name the file
 */
export function parseBootstrap<Schema extends z.ZodType>(
  schema: Schema,
  content: unknown,
  path: string,
  source = VARIABLE,
): z.output<Schema> {
  const problems: ConfigurationProblem[] = [];
  for (const { entry, member, file, name } of namedSecrets(content)) {
    delete entry[`${member}File`];
    if (entry[member] !== undefined) {
      const message = `set either ${member} or ${member}File, not both`;
      problems.push({ name: `${name}.${member}`, message });
      continue;
    }
    try {
      const text = readFileSync(resolve(dirname(path), file), 'utf8');
      entry[member] = text.replace(/\r?\n$/, '');
    } catch {
      problems.push({ name: `${name}.${member}File`, message: 'names a file that cannot be read' });
      entry[member] = unreadableSecret;
    }
  }
  problems.push(
    ...readBrandImages(Object(content).branding, (file) => resolve(dirname(path), file)),
  );
  const parsed = schema.safeParse(content, { error: readableIssue });
  problems.push(...(parsed.success ? [] : toProblems(parsed.error)));
  if (!parsed.success || problems.length > 0) {
    throw new ConfigurationError(
      problems.map(({ name, message }) => ({ name: `${source} ${name}`, message })),
    );
  }
  return parsed.data;
}

/**
 * The secret files that a bootstrap file names. None if it is unreadable: `loadBootstrap` reports
 * it.
 */
export function bootstrapSecretFiles(path: string): readonly SecretFile[] {
  try {
    return namedSecrets(readBootstrapJson(path)).map(({ member, file, name }) => ({
      name: `${VARIABLE} ${name}.${member}File`,
      path: resolve(dirname(path), file),
    }));
  } catch {
    return [];
  }
}

/** The entries that name a secret file. Content of another shape has none: the schema rejects it. */
function namedSecrets(content: unknown) {
  return Object.entries(secretMembers).flatMap(([list, member]) => {
    const entries: unknown = Object(content)[list];
    return (Array.isArray(entries) ? entries : []).flatMap((value: unknown, i) => {
      const entry: Record<string, unknown> = Object(value);
      const file = entry[`${member}File`];
      return file === undefined
        ? []
        : [{ entry, member, file: String(file), name: `${list}.${i}` }];
    });
  });
}

/** @throws ConfigurationError that names the source, and never quotes the text */
export function readBootstrapJson(path: string, source = VARIABLE): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw refusal(source, 'names a file that cannot be read');
  }
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser quotes the text, which can contain a secret.
    throw refusal(source, 'names a file that is not valid JSON');
  }
}

function refusal(name: string, message: string): ConfigurationError {
  return new ConfigurationError([{ name, message }]);
}
