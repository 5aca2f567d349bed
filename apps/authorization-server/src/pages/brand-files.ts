/**
 * Serves the images and colors that brands name. A file has the hash of its content in its address, so
 * that browsers keep it.
 */
import { type Identity, imagesOf, memoized, type Settings } from '@gatehouse/identity';
import type { RequestHandler } from 'express';
import { LRUCache } from 'lru-cache';
import { stylesheetOf } from './branding.ts';
import { sendErrorPage } from './error-page.ts';

interface BrandFile {
  readonly type: string;
  /** Undefined for an image, which is in the store. */
  readonly css?: string;
}

/** The files of all brands, by hash. The settings are the same object as long as nothing changes. */
const listFiles = memoized((settings: Settings): ReadonlyMap<string, BrandFile> => {
  const { branding } = settings.definition;
  const files = new Map<string, BrandFile>(imagesOf(branding).map((each) => [each.hash, each]));
  for (const orgId of [undefined, ...Object.keys(branding?.organizations ?? {})]) {
    const sheet = stylesheetOf(settings.brandOf(orgId));
    if (sheet !== undefined) {
      files.set(sheet.hash, { type: 'text/css; charset=utf-8', css: sheet.css });
    }
  }
  return files;
});

/**
 * Serves what a brand of the settings names, and nothing else. A vector image is a document with
 * scripts if a browser opens its address: the policy blocks them, and puts it into an origin of its own.
 */
export function serveBrandFiles({ settings }: Pick<Identity, 'settings'>): RequestHandler {
  const images = new LRUCache<string, Buffer>({ max: 100 });
  return async (request, response) => {
    const wanted = String(request.params.hash);
    const file = listFiles(await settings.read()).get(wanted);
    const content = file && (file.css ?? images.get(wanted) ?? (await settings.readImage(wanted)));
    if (file === undefined || content === undefined) {
      response.set('Cache-Control', 'no-store');
      sendErrorPage(request, response, 404, 'notFound');
      return;
    }
    if (Buffer.isBuffer(content)) {
      images.set(wanted, content);
    }
    response.set({
      'Content-Type': file.type,
      'Content-Security-Policy': "default-src 'none';style-src 'unsafe-inline';sandbox",
      'Cache-Control': 'public, max-age=31536000, immutable',
    });
    response.end(content);
  };
}
