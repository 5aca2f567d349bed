/**
 * Writes the lists in documents that code declares, between `<!-- generated: NAME -->` and
 * `<!-- end -->`. With `--check`, it changes nothing, and fails if a list is out of date.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ErrorCode,
  errorCatalogue,
  type FailureReason,
  failureReasons,
} from '@gatehouse/errors';
import { identityVariables } from '@gatehouse/identity';
import { commonVariables, defaultOf } from '@gatehouse/server/configuration';
import { z } from 'zod';
import { variables as authorizationServer } from '../apps/authorization-server/src/config.ts';
import { variables as consoleApp } from '../apps/console/src/config.ts';
import { variables as deviceService } from '../apps/device-service/src/config.ts';
import { variables as gateway } from '../apps/gateway/src/config.ts';

const root = join(import.meta.dirname, '..');
const check = process.argv.includes('--check');

const { TRUSTED_PROXIES } = gateway.shape;
const shared = { ...identityVariables, TRUSTED_PROXIES };

/** Of compose, which sets everything else itself. */
const containers = {
  PUBLISH_ADDRESS: z
    .string()
    .default('127.0.0.1')
    .describe('Address of the host that publishes the two public ports.'),
  GATEHOUSE_IMAGE: z
    .string()
    .default('gatehouse:local')
    .describe('Image name. Compose builds a missing image.'),
};

type Variables = Readonly<Record<string, z.ZodType>>;

/** What a declaration tells about its variable. */
interface VariableMeta {
  readonly description?: string | undefined;
  /** The text of the table, if the schema has no default. */
  readonly default?: string;
  /** The value in `.env.example`, if the default is not one. */
  readonly example?: string | number;
  /** It protects data, so a misspelling prevents a start. */
  readonly protects?: boolean;
  /** It can contain a password, so a file can have its value. */
  readonly secret?: boolean;
}

/** By heading of `.env.example`. */
const declarations: Readonly<Record<string, Variables>> = {
  'Every server': commonVariables,
  'Authorization server and gateway': shared,
  'Authorization server': without(authorizationServer.shape),
  Gateway: without(gateway.shape),
  'Device service': without(deviceService.shape),
  Console: without(consoleApp.shape),
  Containers: containers,
};

const lists: Readonly<Record<string, () => string>> = {
  codes: errorCodes,
  ...Object.fromEntries(
    Object.entries(declarations).map(([heading, declared]) => [
      `variables-${heading.toLowerCase().replaceAll(' ', '-')}`,
      () => variables(declared),
    ]),
  ),
};

for (const path of globSync('docs/**/*.md', { cwd: root })) {
  rewrite(path, (text) =>
    text.replace(
      /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g,
      (_all, start: string, name: string, end: string) => `${start}\n${listNamed(name)}\n\n${end}`,
    ),
  );
}
rewrite('.env.example', exampleEnvironment);
rewrite('packages/server/src/configuration/variable-names.ts', (text) =>
  text.replace(
    /(\/\/ generated\n)[\s\S]*?( {2}\/\/ end)/,
    (_all, start: string, end: string) => `${start}${knownVariables()}${end}`,
  ),
);

function rewrite(path: string, change: (text: string) => string): void {
  const file = join(root, path);
  const text = readFileSync(file, 'utf8');
  const written = change(text);
  if (written !== text && check) {
    console.error(`${path} is out of date. Run npm run generate:docs.`);
    process.exitCode = 1;
  } else if (written !== text) {
    writeFileSync(file, written);
  }
}

function listNamed(name: string): string {
  const list = lists[name];
  if (list === undefined) {
    throw new Error(`No list has the name ${name}.`);
  }
  return list();
}

/** The codes of the platform API. The reason of the same name has the texts. */
function errorCodes(): string {
  const reasons: Readonly<Record<string, FailureReason>> = failureReasons;
  const rows = Object.keys(errorCatalogue).map((code) => {
    const { status } = errorCatalogue[code as ErrorCode];
    const { cause, fix } = reasons[code] ?? {
      cause: 'Gatehouse has a defect.',
      fix: 'Report it with X-Request-Id.',
    };
    return [`\`${code}\``, `${status}`, cause, fix];
  });
  return table(['Code', 'Status', 'Cause', 'What to do'], rows);
}

function variables(declared: Variables): string {
  const rows = described(declared).map(({ name, schema, description, default: text }) => [
    `\`${name}\``,
    text ?? codeOf(defaultOf(schema)),
    description,
  ]);
  return table(['Variable', 'Default', 'Meaning'], rows);
}

/** The first paragraph of `.env.example` stays. */
function exampleEnvironment(text: string): string {
  const sections = Object.entries(declarations).map(([heading, declared]) => {
    const lines = described(declared).flatMap(({ name, schema, example, secret }) => [
      `# ${name}=${example ?? defaultOf(schema)}`,
      ...(secret === true
        ? [`# ${name}_FILE=/run/secrets/${name.toLowerCase().replaceAll('_', '-')}`]
        : []),
    ]);
    return `# ${heading}\n${lines.join('\n')}\n`;
  });
  return [text.slice(0, text.indexOf('\n\n') + 1), ...sections].join('\n');
}

/** The members of the object in variable-names.ts, in lines of words. */
function knownVariables(): string {
  const { Containers: _ofCompose, ...ofApps } = declarations;
  const all = Object.values(ofApps).flatMap(described);
  const kindOf = ({ secret, protects }: VariableMeta) =>
    secret === true ? 'secret' : protects === true ? 'protects' : 'plain';
  const members = ['secret', 'protects', 'plain'].map((kind) => {
    const names = all.filter((each) => kindOf(each) === kind).map(({ name }) => name);
    const words = names.sort().join(' ');
    const lines = words.match(/(?! )\S.{0,93}(?!\S)/g) ?? [];
    return `  ${kind}: \`\n${lines.map((line) => `    ${line}\n`).join('')}  \`,\n`;
  });
  return members.join('');
}

/** Variables with a description. An app that reads a variable of another app has none for it. */
function described(declared: Variables) {
  return Object.entries(declared).flatMap(([name, schema]) => {
    const meta: VariableMeta = z.globalRegistry.get(schema) ?? {};
    const { description } = meta;
    return description === undefined ? [] : [{ ...meta, name, schema, description }];
  });
}

function without(shape: Variables): Variables {
  const others = { ...commonVariables, ...shared };
  return Object.fromEntries(Object.entries(shape).filter(([name]) => !(name in others)));
}

function codeOf(text: string | undefined): string {
  return text === undefined ? 'none' : `\`${text}\``;
}

function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heading), `|${heading.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
