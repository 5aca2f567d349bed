import { readFileSync, realpathSync } from 'node:fs';

/**
 * Whether the file is on a mount that this process cannot write to, as containers get their secrets. access(2) cannot
 * tell: it checks the file's mode first.
 *
 * @param mounts the content of `/proc/self/mountinfo` (proc_pid_mountinfo(5)); without it, no mount is read-only
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

/** Spaces and similar characters are octal there: `\040`. */
function unescapePath(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
