/**
 * Organizations, clients and settings as a folder of bootstrap files, which a team keeps in version
 * control. `formatBootstrapFolder` makes a file for each of them. `readBootstrapFolder` reads all of
 * the JSON files, however they are named and divided.
 *
 * Not here: secure keys and users, which a repository must not contain.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/server/configuration';
import { type BrandImage, imagesOf } from '../settings/branding.ts';
import { type SettingsDefinition, settingsMembers } from '../settings/settings.ts';
import { bootstrapWarnings, type Declarations, declarationsSchema } from './bootstrap-schema.ts';
import { parseBootstrap, readBootstrapJson } from './load-bootstrap.ts';

/**
 * Reads all files of the folder and of folders in it that end with `.json`. Ignores names that begin
 * with a dot.
 *
 * @throws ConfigurationError with all problems, by file. Messages never quote values
 */
export function readBootstrapFolder(folder: string) {
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  const files = listJsonFiles(folder).flatMap((file) => {
    try {
      return [{ file, declared: readDeclarations(join(folder, file), file) }];
    } catch (error) {
      if (!(error instanceof ConfigurationError)) {
        throw error;
      }
      problems.push(...error.problems);
      return [];
    }
  });
  const places = new Map<string, string>();
  for (const { file, declared } of files) {
    warnings.push(...bootstrapWarnings(declared, file));
    for (const name of namesIn(declared)) {
      const message = `declares the ${name}, which is also in ${places.get(name)}`;
      problems.push(...(places.has(name) ? [{ name: file, message }] : []));
      places.set(name, file);
    }
  }
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
  const all = files.map(({ declared }) => declared);
  const declarations: Declarations = {
    ...Object.assign({}, ...all),
    organizations: all.flatMap(({ organizations }) => organizations),
    clients: all.flatMap(({ clients }) => clients),
  };
  return { declarations, warnings };
}

function listJsonFiles(folder: string): readonly string[] {
  let files: readonly string[];
  try {
    files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch {
    throw new ConfigurationError([{ name: folder, message: 'is not a folder that can be read' }]);
  }
  const found = files.filter((file) => file.endsWith('.json') && !/(^|[\\/])\./.test(file)).sort();
  if (found.length === 0) {
    throw new ConfigurationError([{ name: folder, message: 'contains no JSON file' }]);
  }
  return found;
}

/** The names that a second file must not declare. */
function namesIn({ organizations, clients, ...settings }: Declarations): readonly string[] {
  return [
    ...organizations.map(({ id }) => `organization ${id}`),
    ...clients.map(({ clientId }) => `client ${clientId}`),
    ...Object.keys(settings).map((member) => `setting ${member}`),
  ];
}

function readDeclarations(path: string, file: string): Declarations {
  const content = readBootstrapJson(path, file);
  const { clients, users }: Record<string, unknown> = Object(content);
  const entries: readonly unknown[] = Array.isArray(clients) ? clients : [];
  const secrets = entries.flatMap((entry, i) =>
    ['secureKey', 'secureKeyFile', 'keepTokens']
      .filter((member) => Object(entry)[member] !== undefined)
      .map((member) => ({
        name: `${file} clients.${i}.${member}`,
        message: 'is not for this folder. To replace a key, run gatehouse clients rotate-key',
      })),
  );
  const ofUsers = { name: `${file} users`, message: 'is not for this folder. Use gatehouse users' };
  const problems = users === undefined ? secrets : [...secrets, ofUsers];
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
  return parseBootstrap(declarationsSchema, content, path, file);
}

/** The content of files by path, in the order of the paths. */
export type BootstrapFolder = ReadonlyMap<string, string | Buffer>;

/** The same declarations always give the same files. */
export function formatBootstrapFolder({
  organizations,
  clients,
  ...settings
}: Partial<SettingsDefinition> & {
  readonly organizations: readonly { readonly id: string }[];
  readonly clients: readonly { readonly clientId: string }[];
}): BootstrapFolder {
  const files = new Map<string, string | Buffer>();
  const taken = new Set<string>();
  const add = (path: string, content: object) => {
    // Some file systems do not distinguish `A` from `a`.
    let name = path;
    for (let i = 2; taken.has(name.toLowerCase()); i += 1) {
      name = `${path}.${i}`;
    }
    taken.add(name.toLowerCase());
    files.set(`${name}.json`, `${JSON.stringify(content, withImagePaths, 2)}\n`);
  };
  for (const each of organizations) {
    add(`organizations/${fileName(each.id)}`, { organizations: [each] });
  }
  for (const each of clients) {
    add(`clients/${fileName(each.clientId)}`, { clients: [each] });
  }
  const members = Object.keys(settingsMembers) as (keyof SettingsDefinition)[];
  add('settings', Object.fromEntries(members.map((member) => [member, settings[member]])));
  for (const image of imagesOf(settings.branding)) {
    files.set(imagePath(image), Buffer.from(image.content ?? '', 'base64'));
  }
  return files;
}

/** Only people read it. A name that begins with a dot would be ignored, and file systems limit the length. */
const fileName = (id: string) => encodeURIComponent(id).replace(/^\./, '%2E').slice(0, 200);

const imagePath = ({ type, hash }: BrandImage) =>
  `images/${hash}.${type === 'image/png' ? 'png' : 'svg'}`;

function withImagePaths(name: string, value: unknown): unknown {
  const isImage = (name === 'logo' || name === 'favicon') && Object(value).hash !== undefined;
  return isImage ? imagePath(value as BrandImage) : value;
}
