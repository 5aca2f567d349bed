import { posix } from 'node:path';
import { lineOf, type SourceFile } from './source-tree.ts';

/** A rule that source files must follow. A violation is printed as `path:line what. why`. */
export interface Rule {
  readonly name: string;
  readonly why: string;
  /** The violations in the file, by line. */
  check(file: SourceFile): readonly { readonly line: number; readonly what: string }[];
}

export function findViolations(files: readonly SourceFile[], rule: Rule): readonly string[] {
  return files.flatMap((file) =>
    rule.check(file).map(({ line, what }) => `${file.path}:${line} ${what}. ${rule.why}`),
  );
}

/** The workspace of Gatehouse that an import refers to, such as `apps/gateway`, or undefined. */
export function importedWorkspace(file: SourceFile, specifier: string): string | undefined {
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file.path), specifier);
    return /^(?:apps|packages)\/[^/]+/.exec(target)?.[0];
  }
  const name = /^@gatehouse\/([^/]+)/.exec(specifier)?.[1];
  if (name === undefined) {
    return undefined;
  }
  return apps.has(name) ? `apps/${name}` : `packages/${name}`;
}

const apps = new Set(['authorization-server', 'cli', 'gateway', 'device-service']);

const authorizationServer = 'apps/authorization-server/src';
const deviceService = 'apps/device-service/src';

/**
 * Library → the only folders and files that may import it, and the reason. Tests may import any
 * library.
 */
const confinements: readonly (readonly [module: string, places: readonly string[], why: string])[] =
  [
    [
      'express',
      [
        `${authorizationServer}/app.ts`,
        ...['account', 'pages', 'requests', 'sign-in', 'throttle', 'token'].map(
          (folder) => `${authorizationServer}/${folder}/`,
        ),
      ],
      'Only the HTTP edge uses Express; domain code never sees Request or Response; the gateway (docs/decisions/04-gateway-on-node-http.md) and the device service use node:http',
    ],
    [
      'undici',
      ['apps/gateway/src/upstream/'],
      'One folder talks to the upstreams, so that no request bypasses the header and retry policy',
    ],
    [
      '@opentelemetry',
      ['packages/server/src/telemetry/open-telemetry-tracer.ts'],
      'All other code uses Tracer, so that tracing that is off loads and costs nothing',
    ],
    [
      'ioredis',
      ['packages/store/src/redis/'],
      'Redis is one engine of the Store port; all other code uses Store',
    ],
    [
      'oidc-provider',
      ['account', 'outcomes', 'pages', 'provider', 'sign-in', 'throttle', 'token'].map(
        (folder) => `${authorizationServer}/${folder}/`,
      ),
      'provider/ configures the library, token/ extends it, outcomes/ reports its events, and the folders of the pages answer for it',
    ],
    [
      'oidc-provider/lib',
      [`${authorizationServer}/provider/patches.ts`],
      'One file reaches inside the library (docs/decisions/09-oidc-provider-patches.md, 12-single-use.md, 18-key-rotation.md)',
    ],
    [
      'kysely',
      ['database/', 'devices/', 'logs/', 'query/', 'products.ts', 'tags.ts'].map(
        (place) => `${deviceService}/${place}`,
      ),
      'SQL stays in the database, the queries and the resources; the HTTP edge never sees it',
    ],
    ['pg', [`${deviceService}/database/`], 'One folder talks to PostgreSQL'],
    [
      'node:sqlite',
      ['packages/store/src/sqlite/', `${deviceService}/database/`],
      'Only the port leads to an engine',
    ],
    ['pino', ['packages/server/src/telemetry/logger.ts'], 'One logger, one redaction'],
  ];

const confinementRules = confinements.map(
  ([module, places, why]): Rule => ({
    name: `keeps ${module} where it belongs`,
    why,
    check: (file) =>
      file.isTest || places.some((place) => file.path.startsWith(place))
        ? []
        : file.imports
            .filter(({ specifier }) => specifier === module || specifier.startsWith(`${module}/`))
            .map(({ specifier, line }) => ({ line, what: `imports ${specifier}` })),
  }),
);

const crossings: readonly Rule[] = [
  {
    name: 'lets no app import an app',
    why: 'Apps communicate over HTTP and the store, so that each can be deployed and replaced separately',
    check: (file) =>
      imports(file, (target) => {
        const fromApp = file.workspace?.startsWith('apps/') === true;
        return fromApp && target.startsWith('apps/') && target !== file.workspace;
      }),
  },
  {
    name: 'lets no package import an app',
    why: 'Dependencies point one way: apps → packages',
    check: (file) =>
      imports(
        file,
        (target) => file.workspace?.startsWith('packages/') === true && target.startsWith('apps/'),
      ),
  },
  {
    name: 'lets scripts import no app',
    why: 'Scripts start apps as processes. Documents are generated from the variables',
    check: (file) =>
      imports(
        file,
        (target) =>
          file.path.startsWith('scripts/') &&
          file.path !== 'scripts/generate-docs.ts' &&
          target.startsWith('apps/'),
      ),
  },
  {
    name: 'lets no relative import leave its workspace',
    why: 'A package has one public face, its index.ts, and is imported by name',
    check: (file) =>
      file.imports
        .filter(({ specifier }) => specifier.startsWith('.') && file.workspace !== undefined)
        .filter(({ specifier }) => importedWorkspace(file, specifier) !== file.workspace)
        .map(({ specifier, line }) => ({ line, what: `imports ${specifier}` })),
  },
];

const conduct: readonly Rule[] = [
  {
    name: 'reads process.env in main.ts only',
    why: 'Configuration is read once, checked whole, and handed on by name',
    check: (file) =>
      file.isTest ||
      file.path.startsWith('scripts/') ||
      /^apps\/[^/]+\/src\/main\.ts$/.test(file.path) ||
      // The exporter of OpenTelemetry reads its variables there, too.
      file.path === 'packages/server/src/telemetry/tracer.ts'
        ? []
        : mentions(file, /\bprocess\s*\.\s*env\b|\bprocess\s*\[/g, 'reads process.env'),
  },
  {
    name: 'keeps the signatures free of Node',
    why: 'The same code signs in a browser; the digest is injected',
    check: (file) =>
      file.isTest ||
      file.workspace !== 'packages/signing' ||
      file.path.startsWith('packages/signing/src/reading/')
        ? []
        : [
            ...mentions(file, /\b(?:Buffer|process|require|__dirname)\b/g, 'uses a global of Node'),
            ...file.imports
              // The catalogue of errors uses nothing of Node, either.
              .filter(({ specifier }) => !/^\.\.?\/|^@gatehouse\/errors$/.test(specifier))
              .map(({ specifier, line }) => ({ line, what: `imports ${specifier}` })),
          ],
  },
  {
    name: 'keeps HTTP out of the device domain',
    why: 'A route parses and writes; an operation takes data and gives data',
    check: (file) =>
      file.isTest ||
      !/^apps\/device-service\/src\/(?:(?:devices|logs)\/(?!http\.ts)|query\/|database\/)/.test(
        file.path,
      )
        ? []
        : file.imports
            .filter(({ specifier }) => specifier === 'node:http' || specifier.includes('/http/'))
            .map(({ specifier, line }) => ({ line, what: `imports ${specifier}` })),
  },
  {
    name: 'has no source file over 300 lines',
    why: 'A file that long holds more than one concept',
    check: (file) =>
      !file.isTest && file.lineCount > 300
        ? [{ line: file.lineCount, what: `has ${file.lineCount} lines` }]
        : [],
  },
];

export const rules: readonly Rule[] = [...crossings, ...confinementRules, ...conduct];

function imports(file: SourceFile, isForbidden: (workspace: string) => boolean) {
  return file.imports.flatMap(({ specifier, line }) => {
    const target = importedWorkspace(file, specifier);
    return target !== undefined && isForbidden(target)
      ? [{ line, what: `imports ${specifier}` }]
      : [];
  });
}

function mentions(file: SourceFile, pattern: RegExp, what: string) {
  return [...file.code.matchAll(pattern)].map((match) => ({
    line: lineOf(file.code, match.index),
    what,
  }));
}
