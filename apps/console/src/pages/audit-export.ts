/** The entries of the audit trail as JSON lines, which `gatehouse audit verify` checks. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Operators } from '@gatehouse/operators';
import type { Express } from 'express';
import { FrameError } from '../frame/errors.ts';
import { noteOperation } from '../frame/send-page.ts';
import type { SignIn } from '../frame/sign-in.ts';
import { AUDIT_EXPORT_PATH, auditQuery, toAuditQuery } from './audit.ts';

/** Entries of a filter are a chain of their own. */
export function addAuditExport(
  app: Express,
  { operators, signIn }: { readonly operators: Operators; readonly signIn: SignIn },
): void {
  app.get(
    AUDIT_EXPORT_PATH,
    noteOperation(AUDIT_EXPORT_PATH),
    signIn.withSession(async (request, response, { access }) => {
      if (!access.scopes.has('operator:read')) {
        throw new FrameError('forbidden');
      }
      const given = Object.entries(request.query).filter(([, value]) => value !== '');
      const query = auditQuery.safeParse(Object.fromEntries(given));
      // The screen ignores a filter that it does not know. A file must not have more than its address asks for.
      if (!query.success) {
        throw new FrameError('bad');
      }
      const lines = await operators.audit.export(toAuditQuery(query.data));
      response.writeHead(200, {
        'Content-Type': 'application/jsonl; charset=utf-8',
        'Content-Disposition': 'attachment; filename="audit.jsonl"',
      });
      await pipeline(Readable.from(lines), response);
    }),
  );
}
