/** The form of every mail: plain text and HTML with the same sentences. */
import { html } from '../pages/html.ts';
import type { Texts } from '../pages/texts-en.ts';
import type { Mail } from './mailer.ts';

interface MailContent {
  readonly to: string;
  readonly texts: Texts;
  readonly subject: string;
  /** What happened, and what the link does. */
  readonly lead: string;
  readonly link: { readonly address: string; readonly label: string };
  /** Below the link. */
  readonly notes: readonly string[];
}

export function formatMail({ to, texts, subject, lead, link, notes }: MailContent): Mail {
  const paragraphs = [lead, `${link.label}:\n${link.address}`, ...notes];
  const document = html`<!doctype html>
<html lang="${texts.language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${subject}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif">
<p>${lead}</p>
<p><a href="${link.address}" style="display:inline-block;padding:10px 18px;border-radius:6px;background:#1d4ed8;color:#ffffff;text-decoration:none">${link.label}</a></p>
${notes.map((note) => html`<p>${note}</p>`)}
<p style="font-size:13px;word-break:break-all">${link.address}</p>
</body>
</html>
`;
  return { to, subject, text: `${paragraphs.join('\n\n')}\n`, html: document.markup };
}
