import { chmodSync, cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Application, startApplication } from './start-application.ts';

const applications = join(import.meta.dirname, 'applications');

/** Starts Apache with a file of `applications/`, which reads the environment. */
export function startApache(
  configuration: string,
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<Application> {
  return startApplication(
    ['/usr/sbin/apache2', '-D', 'FOREGROUND', '-f', join(applications, configuration)],
    { APPLICATIONS: applications, FOLDER: folder, ...environment },
    'resuming normal operations',
  );
}

/** Creates a folder with the pages of the server, for its other files too. */
export function makeServerFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-apache-'));
  // Root starts the server, but its workers belong to another user.
  chmodSync(folder, 0o755);
  cpSync(join(applications, 'pages'), join(folder, 'pages'), { recursive: true });
  return folder;
}
