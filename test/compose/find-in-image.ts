import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/**
 * Returns the texts that occur in an image: in its configuration, its manifests, or any byte of its
 * layers.
 */
export async function findInImage(
  image: string,
  texts: readonly string[],
): Promise<readonly string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-image-'));
  try {
    const shell = spawn('sh', ['-c', `docker save ${image} | tar -x -C ${directory}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = await once(shell, 'close');
    if (code !== 0) {
      throw new Error(`docker save ended with ${code}.`);
    }
    const found = new Set<string>();
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) {
        const content = await readFile(join(entry.parentPath, entry.name));
        const plain = content.subarray(0, 2).equals(GZIP_MAGIC) ? gunzipSync(content) : content;
        for (const text of texts.filter((each) => plain.includes(each))) {
          found.add(text);
        }
      }
    }
    return texts.filter((text) => found.has(text));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
