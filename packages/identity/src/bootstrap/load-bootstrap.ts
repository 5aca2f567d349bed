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
import { type BootstrapDefinition, bootstrapSchema } from './bootstrap-schema.ts';
import { demoDefinition, demoFile, readOrCreateDemo } from './demo.ts';

/** The settings that select the definition. */
export interface BootstrapSettings {
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

/** The members that can be read from a file, as `secureKeyFile` and `passwordFile`. */
const secretMembers = { clients: 'secureKey', users: 'password' } as const;
/** Conforms to all rules, so that an unreadable file is reported as one problem, not two. */
const unreadableSecret = '-unreadable:QxZ7wK4p9TfR2mVs';

/**
 * Reads a bootstrap file and the secret files that it names, relative to its folder.
 *
 * @throws ConfigurationError with all problems. If members are invalid, rules between members are
 *   not checked. Messages never quote values
 */
export function loadBootstrap(path: string): BootstrapDefinition {
  const problems: ConfigurationProblem[] = [];
  const content = readSecretFiles(readJson(path), dirname(path), problems);
  const parsed = bootstrapSchema.safeParse(content, { error: readableIssue });
  problems.push(...(parsed.success ? [] : toProblems(parsed.error)));
  if (!parsed.success || problems.length > 0) {
    throw new ConfigurationError(
      problems.map(({ name, message }) => ({ name: `BOOTSTRAP_FILE ${name}`, message })),
    );
  }
  return parsed.data;
}

/**
 * The secret files that a bootstrap file names. None if it is unreadable: `loadBootstrap` reports
 * it.
 */
export function bootstrapSecretFiles(path: string): readonly SecretFile[] {
  let content: unknown;
  try {
    content = readJson(path);
  } catch {
    return [];
  }
  return Object.entries(secretMembers).flatMap(([list, member]) => {
    const entries = isRecord(content) ? content[list] : undefined;
    return (Array.isArray(entries) ? entries : []).flatMap((entry: unknown, i) => {
      const file = isRecord(entry) ? entry[`${member}File`] : undefined;
      const name = `BOOTSTRAP_FILE ${list}.${i}.${member}File`;
      return file === undefined ? [] : [{ name, path: resolve(dirname(path), String(file)) }];
    });
  });
}

function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw refusal('names a file that cannot be read');
  }
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser quotes the text, which can contain a secret.
    throw refusal('names a file that is not valid JSON');
  }
}

function refusal(message: string): ConfigurationError {
  return new ConfigurationError([{ name: 'BOOTSTRAP_FILE', message }]);
}

/**
 * Replaces file names by secrets. Content of another shape does not change: the schema rejects it.
 */
function readSecretFiles(
  content: unknown,
  base: string,
  problems: ConfigurationProblem[],
): unknown {
  if (!isRecord(content)) {
    return content;
  }
  const filled: Record<string, unknown> = { ...content };
  for (const [list, member] of Object.entries(secretMembers)) {
    const entries = content[list];
    if (Array.isArray(entries)) {
      filled[list] = entries.map((entry, i) => {
        const report = (name: string, message: string) =>
          problems.push({ name: `${list}.${i}.${name}`, message });
        return isRecord(entry) ? readSecretFile(entry, member, base, report) : entry;
      });
    }
  }
  return filled;
}

function readSecretFile(
  entry: Readonly<Record<string, unknown>>,
  member: string,
  base: string,
  report: (name: string, message: string) => void,
): unknown {
  const { [`${member}File`]: file, ...rest } = entry;
  if (file === undefined) {
    return entry;
  }
  if (rest[member] !== undefined) {
    report(member, `set either ${member} or ${member}File, not both`);
    return rest;
  }
  try {
    const text = readFileSync(resolve(base, String(file)), 'utf8');
    return { ...rest, [member]: text.replace(/\r?\n$/, '') };
  } catch {
    report(`${member}File`, 'names a file that cannot be read');
    return { ...rest, [member]: unreadableSecret };
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
