/** The commands in documents exist: of operators, of Compose and of Kubernetes. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { commands } from '../apps/cli/src/cli.ts';
import { parseArguments } from '../apps/cli/src/command-line/parse-arguments.ts';
import { type DocumentedCommand, documentedCommands } from './documented-commands.ts';
import { root } from './source-tree.ts';

const text = ({ path, words }: DocumentedCommand) => `${path}: ${words.join(' ')}`;

/** The option has a value, which is not a service. */
function withoutEntrypoint(words: readonly string[]): readonly string[] {
  return words.filter(
    (word, index) => word !== '--entrypoint' && words[index - 1] !== '--entrypoint',
  );
}

describe('commands of operators', () => {
  const start =
    /(?:npm run (?:-s )?gatehouse -- |npx gatehouse |docker compose run (?:--?\S+ )*gatehouse |node apps\/cli\/src\/main\.ts |(?:^|\$\()gatehouse )/g;
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const documented = [
    ...documentedCommands(start),
    ...Object.entries(scripts).flatMap(([name, script]) => {
      const [, words] = /apps\/cli\/src\/main\.ts (.+)$/.exec(script) ?? [];
      return words === undefined
        ? []
        : documentedCommands(new RegExp(`npm run (?:-s )?${name}(?= |$)(?: --)?`, 'g')).map(
            (command) => ({ ...command, words: [...words.split(' '), ...command.words] }),
          );
    }),
  ];

  test('are found in the documents', () => {
    expect(documented.length).toBeGreaterThan(20);
  });

  test('have names, arguments and options that the program accepts', () => {
    // The shell function of a document passes its own arguments on.
    const complete = documented.filter(({ words }) => words.length > 0 && !words.includes('$@'));
    const problems = complete.flatMap((command) => {
      const { words, isMention } = command;
      try {
        parseArguments(isMention && words.length === 1 ? [...words, '--help'] : words, commands);
        return [];
      } catch (error) {
        const { message } = error as Error;
        return isMention && /needs a command|missing required argument/.test(message)
          ? []
          : [`${text(command)}: ${message}`];
      }
    });
    expect(problems).toEqual([]);
  });
});

describe('commands of Docker Compose', () => {
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'));
  const profiles = Object.values(services).flatMap(
    (service) => (service as { profiles?: string[] }).profiles ?? [],
  );
  const documented = documentedCommands(/docker compose /g);

  test('name services and profiles of docker-compose.yml', () => {
    const wrong = documented.filter((command) => {
      const words = [...command.words];
      while (words[0] === '--profile') {
        const [, profile = ''] = words.splice(0, 2);
        if (profile !== '*' && !profiles.includes(profile)) {
          return true;
        }
      }
      const [verb = '', ...rest] = words;
      return servicesNamed(verb, withoutEntrypoint(rest)).some((name) => !(name in services));
    });
    expect(documented.length).toBeGreaterThan(20);
    expect(wrong.map(text)).toEqual([]);
  });
});

/** The words that must be services. `run` and `exec` name one, then a command. */
function servicesNamed(verb: string, words: readonly string[]): readonly string[] {
  const names = words.filter((word) => !word.startsWith('-') && !word.startsWith('$'));
  if (['up', 'restart', 'logs'].includes(verb)) {
    return names;
  }
  return ['run', 'exec'].includes(verb) ? names.slice(0, 1) : [];
}

describe('commands of kubectl', () => {
  const resources = new Set(
    globSync('deploy/kubernetes/*/*.yaml', { cwd: root }).flatMap((path) =>
      parseAllDocuments(readFileSync(join(root, path), 'utf8')).map((document) => {
        const { kind, metadata } = document.toJS() as {
          kind?: string;
          metadata?: { name: string };
        };
        return `${kind?.toLowerCase()}/${metadata?.name}`;
      }),
    ),
  );
  const documented = documentedCommands(/kubectl /g);

  test('name workloads of deploy/kubernetes', () => {
    const wrong = documented.filter(({ words }) =>
      words
        .flatMap(
          (word) => /^(?:--from=)?((?:deploy|deployment|cronjob)\/\S+)$/.exec(word)?.[1] ?? [],
        )
        .filter((name) => !name.includes('$'))
        .some((name) => !resources.has(name.replace('deploy/', 'deployment/'))),
    );
    expect(documented.length).toBeGreaterThan(5);
    expect(wrong.map(text)).toEqual([]);
  });
});
