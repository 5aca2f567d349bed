import type { Request } from 'express';
import type { LabelLanguage } from '../labels/label.ts';

/** The raw query with repeated parameters. The parsers of Express interpret values. */
export function queryOf(request: Request): URLSearchParams {
  return new URLSearchParams(request.url.split('?').slice(1).join('?'));
}

/** RFC 9112 §6.3. */
export function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

export function languageOf(request: Request): LabelLanguage {
  return request.acceptsLanguages('en', 'zh') === 'zh' ? 'zh' : 'en';
}

/** A path segment, which the router has decoded. */
export function pathPart(request: Request, name: string): string {
  return String(request.params[name]);
}
