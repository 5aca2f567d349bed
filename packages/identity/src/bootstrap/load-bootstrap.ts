import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  ConfigurationError,
  type ConfigurationProblem,
  toProblems,
} from '@gatehouse/configuration';
import {
  type BootstrapDefinition,
  bootstrapSchema,
  isAcceptablePassword,
  passwordRule,
} from './bootstrap-schema.ts';

/**
 * Reads and checks a bootstrap file, and the files it names for secrets (relative to itself).
 *
 * @throws ConfigurationError with every problem at once; values are never quoted
 */
export function loadBootstrap(path: string): BootstrapDefinition {
  const parsed = bootstrapSchema.safeParse(readJson(path));
  if (!parsed.success) {
    throw new ConfigurationError(
      toProblems(parsed.error).map((problem) => ({
        ...problem,
        name: `BOOTSTRAP_FILE ${problem.name}`,
      })),
    );
  }
  return readSecretFiles(parsed.data, dirname(path));
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const missing = error instanceof Error && 'code' in error;
    const message = missing ? `${path} cannot be read` : `${path} is not valid JSON`;
    throw new ConfigurationError([{ name: 'BOOTSTRAP_FILE', message }]);
  }
}

function readSecretFiles(definition: BootstrapDefinition, base: string): BootstrapDefinition {
  const problems: ConfigurationProblem[] = [];
  const read = (name: string, file: string): string => {
    try {
      return readFileSync(resolve(base, file), 'utf8').replace(/\r?\n$/, '');
    } catch {
      problems.push({ name: `BOOTSTRAP_FILE ${name}`, message: `${file} cannot be read` });
      return '';
    }
  };
  const clients = definition.clients.map(({ secureKeyFile, ...client }, i) =>
    secureKeyFile === undefined
      ? client
      : { ...client, secureKey: read(`clients.${i}.secureKeyFile`, secureKeyFile) },
  );
  const users = definition.users.map(({ passwordFile, ...user }, i) =>
    passwordFile === undefined
      ? user
      : { ...user, password: read(`users.${i}.passwordFile`, passwordFile) },
  );
  users.forEach((user, i) => {
    if (problems.length === 0 && !isAcceptablePassword(user.password ?? '')) {
      problems.push({ name: `BOOTSTRAP_FILE users.${i}.passwordFile`, message: passwordRule });
    }
  });
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
  return { ...definition, clients, users };
}
