import type { IncomingMessage } from 'node:http';
import accepts from 'accepts';
import { remember } from '../input/remember.ts';
import type { LabelLanguage } from '../labels/label.ts';
import type { RoutedRequest } from './route-table.ts';

/** The raw query with repeated parameters. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}

/** RFC 9112 §6.3. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

export function languageOf({ headers }: IncomingMessage): LabelLanguage {
  return preferredLanguage(headers['accept-language'] ?? '*');
}

const REMEMBERED_PREFERENCES = 100;

const preferredLanguage = remember(REMEMBERED_PREFERENCES, (header): LabelLanguage => {
  const request = { headers: { 'accept-language': header } } as IncomingMessage;
  return accepts(request).language('en', 'zh') === 'zh' ? 'zh' : 'en';
});

/** A decoded path segment. */
export function pathPart(request: RoutedRequest, name: string): string {
  return String(request.pathParts[name]);
}
