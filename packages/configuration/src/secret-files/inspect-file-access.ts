import type { ConfigurationProblem } from '../environment/configuration-error.ts';
import type { Environment } from '../environment/environment.ts';
import { isLoopbackUrl } from '../environment/loopback-url.ts';
import { exposedFileProblem, type SecretFile } from './exposed-file.ts';
import { restrictDataDirectory } from './restrict-data-directory.ts';

export interface FileAccessSubject {
  /** The files that an operator names. */
  readonly files: readonly SecretFile[];
  /** `DATA_DIR`, where the app keeps files in it. */
  readonly dataDirectory: string | undefined;
  /** The public address; undefined for a process that serves none. */
  readonly publicUrl: string | undefined;
}

export interface FileAccess {
  /** Why the app must not start. */
  readonly problems: readonly ConfigurationProblem[];
  /** For the log. */
  readonly warnings: readonly string[];
}

/**
 * Corrects the modes of our own files, and looks for files of others' that more users can reach than the process that
 * reads them. These end a start on a public address; elsewhere they are warnings.
 */
export function inspectFileAccess(subject: FileAccessSubject): FileAccess {
  const { files, dataDirectory, publicUrl } = subject;
  // First: a variable may name one of our own files.
  const restricted =
    dataDirectory === undefined
      ? { corrected: [], problems: [] }
      : restrictDataDirectory(dataDirectory);
  const exposed = [
    ...restricted.problems,
    ...files.map((file) => exposedFileProblem(file)).filter((problem) => problem !== undefined),
  ];
  if (publicUrl !== undefined && !isLoopbackUrl(publicUrl)) {
    return { problems: exposed, warnings: restricted.corrected };
  }
  const warnings = exposed.map(({ name, message }) => `${name}: ${message}`);
  return { problems: [], warnings: [...restricted.corrected, ...warnings] };
}

/** The files that these variables name. */
export function secretFilesOf(
  environment: Environment,
  names: readonly string[],
): readonly SecretFile[] {
  return names.flatMap((name) => {
    const path = environment[name];
    return path === undefined || path === '' ? [] : [{ name, path }];
  });
}
