import { readFileSync, realpathSync } from 'node:fs';

/**
 * Returns whether the file is on a read-only mount, such as a secret of a container. access(2)
 * checks the mode of the file first, so it cannot answer this.
 *
 * @param mounts content of `/proc/self/mountinfo` (proc_pid_mountinfo(5)). If empty, no mount is
 *   read-only
 */
export function isOnReadOnlyMount(path: string, mounts: string = readMounts()): boolean {
  const file = realpathSync(path);
  let longest = '';
  let isReadOnly = false;
  for (const line of mounts.split('\n')) {
    const [ofMount = '', ofFileSystem = ''] = line.split(' - ');
    const [, , , , point = '', options = ''] = ofMount.split(' ');
    const folder = unescapePath(point);
    // Later lines cover earlier ones with the same mount point.
    if (point !== '' && contains(folder, file) && folder.length >= longest.length) {
      longest = folder;
      isReadOnly = isReadOnlyOption(options) || isReadOnlyOption(ofFileSystem.split(' ')[2]);
    }
  }
  return isReadOnly;
}

function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

function contains(folder: string, file: string): boolean {
  return folder === file || file.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function isReadOnlyOption(options = ''): boolean {
  return options.split(',').includes('ro');
}

/** Spaces and similar characters are encoded in octal: `\040`. */
function unescapePath(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
