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
import { commonVariables } from '@gatehouse/server/configuration';
import { z } from 'zod';
import { variables as authorizationServer } from '../apps/authorization-server/src/config.ts';
import { variables as deviceService } from '../apps/device-service/src/config.ts';
import { variables as gateway } from '../apps/gateway/src/config.ts';

const root = join(import.meta.dirname, '..');
const check = process.argv.includes('--check');

const { TRUSTED_PROXIES } = gateway.shape;
const shared = { ...identityVariables, TRUSTED_PROXIES };

const lists: Readonly<Record<string, () => string>> = {
  codes: errorCodes,
  'variables-every-server': () => variables(commonVariables),
  'variables-shared': () => variables(shared),
  'variables-authorization-server': () => variables(without(authorizationServer.shape)),
  'variables-gateway': () => variables(without(gateway.shape)),
  'variables-device-service': () => variables(without(deviceService.shape)),
};

for (const path of globSync('docs/**/*.md', { cwd: root })) {
  const file = join(root, path);
  const text = readFileSync(file, 'utf8');
  const written = text.replace(
    /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_all, start: string, name: string, end: string) => `${start}\n${listNamed(name)}\n\n${end}`,
  );
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

/** Variables with a description. An app that reads a variable of another app has none for it. */
function variables(shape: Readonly<Record<string, z.ZodType>>): string {
  const rows = Object.entries(shape).flatMap(([name, schema]) => {
    const { description, default: text } = z.globalRegistry.get(schema) ?? {};
    return description === undefined
      ? []
      : [[`\`${name}\``, typeof text === 'string' ? text : defaultOf(schema), description]];
  });
  return table(['Variable', 'Default', 'Meaning'], rows);
}

function without(shape: Readonly<Record<string, z.ZodType>>) {
  const others = { ...commonVariables, ...shared };
  return Object.fromEntries(Object.entries(shape).filter(([name]) => !(name in others)));
}

function defaultOf(schema: z.ZodType): string {
  const value = schema.safeParse(undefined).data as unknown;
  if (value === undefined || (Array.isArray(value) && value.length === 0)) {
    return 'none';
  }
  return `\`${typeof value === 'object' && value !== null ? Object.values(value).join('/') : value}\``;
}

function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heading), `|${heading.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
