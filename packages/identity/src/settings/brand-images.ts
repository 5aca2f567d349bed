/**
 * The images of brands. An image is a record of its own, under the hash of its content, because every
 * process reads the settings many times a second.
 *
 *   file in `logo` or `favicon` ─▶ readBrandImages ─▶ settings.apply ─▶ storeBrandImages ─▶ record
 */
import { hash as digest } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Store } from '@gatehouse/store';
import {
  type BrandImage,
  type Branding,
  imageMembers,
  imagesOf,
  withoutImageContents,
} from './branding.ts';

const MAXIMUM_IMAGE_BYTES = 32 * 1024;

/**
 * Reads the images that the branding of a bootstrap file names, in place of their paths.
 *
 * @param open finds the file, relative to the bootstrap file
 */
export function readBrandImages(
  branding: unknown,
  open: (path: string) => string,
): readonly { readonly name: string; readonly message: string }[] {
  const brands: readonly (readonly [string, unknown])[] = [
    ['branding', branding],
    ...Object.entries(Object(Object(branding).organizations)).map(
      ([id, brand]) => [`branding.organizations.${id}`, brand] as const,
    ),
  ];
  return brands.flatMap(([place, value]) => {
    const brand: Record<string, unknown> = Object(value);
    return imageMembers
      .filter((member) => brand[member] !== undefined)
      .flatMap((member) => {
        const path = brand[member];
        const read =
          typeof path === 'string' ? readImage(open(path)) : 'must be the path of an image';
        if (typeof read !== 'string') {
          brand[member] = read;
          return [];
        }
        delete brand[member];
        return [{ name: `${place}.${member}`, message: read }];
      });
  });
}

/** The image, or why the file has none. */
function readImage(path: string): BrandImage | string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return 'names a file that cannot be read';
  }
  if (bytes.length > MAXIMUM_IMAGE_BYTES) {
    return `names a file of ${bytes.length} bytes. An image has at most ${MAXIMUM_IMAGE_BYTES}`;
  }
  const type = typeOf(bytes);
  return type === undefined
    ? 'must name a PNG file, or an SVG file with xmlns="http://www.w3.org/2000/svg"'
    : { type, hash: digest('sha256', bytes, 'base64url'), content: bytes.toString('base64') };
}

function typeOf(bytes: Buffer): BrandImage['type'] | undefined {
  if (bytes.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n') {
    return 'image/png';
  }
  const markup = bytes.toString('utf8').replace(/<!--[\s\S]*?-->/g, '');
  const [root] =
    /^\uFEFF?\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE[^>]*>\s*)?<svg\s[^>]*>/.exec(markup) ?? [];
  return root?.includes('"http://www.w3.org/2000/svg"') ? 'image/svg+xml' : undefined;
}

const imageKey = (hash: string) => `brand-image:${hash}`;

/**
 * Writes the images of a change into their records.
 *
 * @returns the branding for the record of the settings, without the contents
 */
export async function storeBrandImages(
  store: Store,
  branding: Branding | undefined,
): Promise<Branding | undefined> {
  for (const { hash, content } of imagesOf(branding)) {
    if (content !== undefined) {
      await store.set(imageKey(hash), content);
    }
  }
  return withoutImageContents(branding);
}

/** Deletes the images that a change no longer names. */
export async function deleteFormerImages(
  store: Store,
  former: Branding | undefined,
  current: Branding | undefined,
): Promise<void> {
  const kept = new Set(imagesOf(current).map(({ hash }) => hash));
  const unused = imagesOf(former).filter(({ hash }) => !kept.has(hash));
  await store.delete(unused.map(({ hash }) => imageKey(hash)));
}

export async function readBrandImage(store: Store, hash: string): Promise<Buffer | undefined> {
  const content = await store.get(imageKey(hash));
  return content === undefined ? undefined : Buffer.from(content, 'base64');
}
