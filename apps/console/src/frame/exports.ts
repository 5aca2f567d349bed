/**
 * The files that operators download: the entries of the audit trail as JSON lines, which
 * `gatehouse audit verify` checks, and what support needs to know.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { auditEvents, auditSeverities } from '@gatehouse/identity';
import type { AuditQuery, Operators } from '@gatehouse/operators';
import type { Express, Request } from 'express';
import { z } from 'zod';
import { FrameError } from './errors.ts';
import { noteOperation } from './send-page.ts';
import type { SignIn } from './sign-in.ts';

export const AUDIT_EXPORT_PATH = '/audit/export';
export const SUPPORT_BUNDLE_PATH = '/settings/support-bundle';

/** The names in log and metrics. */
export const exportOperations = [AUDIT_EXPORT_PATH, SUPPORT_BUNDLE_PATH] as const;

/** The filters in the URL. A time is in UTC, without its zone, as a browser sends it. */
export const auditQuery = z.object({
  user: z.string().max(300).optional(),
  clientId: z.string().max(300).optional(),
  orgId: z.string().max(128).optional(),
  event: z.enum(Object.keys(auditEvents) as [keyof typeof auditEvents]).optional(),
  severity: z.enum(auditSeverities).optional(),
  request: z.string().max(64).optional(),
  since: z.iso.datetime({ local: true }).optional(),
  until: z.iso.datetime({ local: true }).optional(),
});

export function toAuditQuery(query: z.output<typeof auditQuery>): AuditQuery {
  const { severity, request: requestId, since, until, ...others } = query;
  const severities = severity === undefined ? undefined : [severity];
  return { ...others, requestId, severities, since: utc(since), until: utc(until) };
}

const utc = (local: string | undefined) =>
  local === undefined || local.endsWith('Z') ? local : new Date(`${local}Z`).toISOString();

export function addExports(
  app: Express,
  { operators, signIn }: { readonly operators: Operators; readonly signIn: SignIn },
): void {
  const add = (
    path: string,
    name: string,
    read: (request: Request) => Promise<Iterable<string>>,
  ) => {
    const send = signIn.withSession(async (request, response, { access }) => {
      if (!access.scopes.has('operator:read')) {
        throw new FrameError('forbidden');
      }
      const parts = await read(request);
      const type = name.split('.').at(-1);
      response.writeHead(200, {
        'Content-Type': `application/${type}; charset=utf-8`,
        'Content-Disposition': `attachment; filename="${name}"`,
      });
      await pipeline(Readable.from(parts), response);
    });
    app.get(path, noteOperation(path), send);
  };
  // Entries of a filter are a chain of their own.
  add(AUDIT_EXPORT_PATH, 'audit.jsonl', async (request) => {
    const given = Object.entries(request.query).filter(([, value]) => value !== '');
    const query = auditQuery.safeParse(Object.fromEntries(given));
    // The screen ignores a filter that it does not know. A file must not have more than its address asks for.
    if (!query.success) {
      throw new FrameError('bad');
    }
    return operators.audit.export(toAuditQuery(query.data));
  });
  add(SUPPORT_BUNDLE_PATH, 'support-bundle.json', async () => [
    JSON.stringify(await operators.installation.supportBundle(), undefined, 2),
  ]);
}
