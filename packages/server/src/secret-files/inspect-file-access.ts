import type { ConfigurationProblem } from '../configuration/configuration-error.ts';
import type { Environment } from '../configuration/environment.ts';
import { isLoopbackUrl } from '../configuration/loopback-url.ts';
import { currentReader, exposedFileProblem, type SecretFile } from './exposed-file.ts';
import { exposedSocketProblem, restrictDataDirectory } from './restrict-data-directory.ts';

export interface FileAccessSubject {
  /** The files that an operator names. */
  readonly files: readonly SecretFile[];
  /** The Unix sockets on which the app listens, or through which it connects. */
  readonly sockets?: readonly SecretFile[];
  /** `DATA_DIR`, if the app stores files in it. */
  readonly dataDirectory: string | undefined;
  /** The public address. Undefined for a process that serves no requests. */
  readonly publicUrl: string | undefined;
  /** Whether to correct modes, which is the default. Otherwise they are only reported. */
  readonly corrects?: boolean;
}

export interface FileAccess {
  /** With one of these, the app must not start. */
  readonly problems: readonly ConfigurationProblem[];
  /** For the log. */
  readonly warnings: readonly string[];
}

/**
 * Corrects the modes of files that Gatehouse created, and finds operators' files that other users
 * can access. Those files prevent a start on a public address. On a loopback address they are
 * warnings.
 */
export function inspectFileAccess(subject: FileAccessSubject): FileAccess {
  const { files, sockets = [], dataDirectory, publicUrl, corrects = true } = subject;
  // Runs first, because a variable can name a file that Gatehouse created.
  const restricted =
    dataDirectory === undefined
      ? { corrected: [], problems: [] }
      : restrictDataDirectory(dataDirectory, currentReader(), corrects);
  const exposed = [
    ...restricted.problems,
    ...files.map((file) => exposedFileProblem(file)).filter((problem) => problem !== undefined),
    ...sockets.map((file) => exposedSocketProblem(file)).filter((each) => each !== undefined),
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
