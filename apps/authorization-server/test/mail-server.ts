/** A real SMTP server that keeps the mails that it accepts. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type Certificate, freePort, until } from '@gatehouse/testing';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly isEncrypted: boolean;
  readonly user: string | undefined;
  readonly subject: string;
  /** Headers and encoded parts. */
  readonly source: string;
  readonly text: string;
  readonly html: string;
  /** The first link of the text. */
  readonly link: string;
}

export const mailUser = { name: 'gatehouse', password: 'p@ss:word/1' } as const;

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

export async function startMailServer(
  options: SMTPServerOptions & {
    readonly certificate?: Certificate;
    readonly port?: number;
    readonly host?: string;
  } = {},
) {
  const { certificate, port = await freePort(), host = '127.0.0.1', ...more } = options;
  const mails: ReceivedMail[] = [];
  async function listen(): Promise<SMTPServer> {
    const server = new SMTPServer({
      authOptional: true,
      ...(certificate === undefined
        ? { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }
        : {
            key: readFileSync(certificate.keyFile),
            cert: readFileSync(certificate.certificateFile),
          }),
      onAuth({ username, password }, _session, callback) {
        const isValid = username === mailUser.name && password === mailUser.password;
        callback(isValid ? null : new Error('wrong password'), { user: username });
      },
      onData(stream, session, callback) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          mails.push(parse(Buffer.concat(chunks).toString('latin1'), session));
          callback(null);
        });
      },
      closeTimeout: 500,
      ...more,
    });
    server.on('error', () => undefined);
    await once(server.listen(port, host), 'listening');
    return server;
  }
  let server = await listen();
  return {
    url: `smtp://${host}:${port}`,
    mails,
    /** The mails to an address, once there are so many. */
    async mailsTo(address: string, count = 1): Promise<readonly ReceivedMail[]> {
      const received = () => mails.filter(({ to }) => to.includes(address));
      await until(() => received().length >= count, 60);
      return received();
    },
    stop: () => new Promise<void>((resolve) => void server.close(() => resolve())),
    /** After a stop, at the same address. */
    async start(): Promise<void> {
      server = await listen();
    },
  };
}

function parse(source: string, session: Parameters<NonNullable<SMTPServerOptions['onData']>>[1]) {
  const { mailFrom, rcptTo } = session.envelope;
  const [, boundary = ''] = /boundary="([^"]+)"/.exec(source) ?? [];
  const [head = '', ...parts] = source.split(`--${boundary}`);
  const partOf = (type: string) => decode(parts.find((part) => part.includes(type)) ?? '');
  const text = partOf('text/plain');
  const [, subject = ''] = /^Subject: ((?:.|\r\n[ \t])*)/m.exec(head) ?? [];
  return {
    from: mailFrom === false ? '' : mailFrom.address,
    to: rcptTo.map(({ address }) => address),
    isEncrypted: session.secure,
    user: session.user as string | undefined,
    subject: decodeWords(subject),
    source,
    text,
    html: partOf('text/html'),
    link: /https?:\/\/\S+/.exec(text)?.[0] ?? '',
  };
}

function decode(part: string): string {
  const [head = '', ...rest] = part.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n').trimEnd();
  if (/base64/i.test(head)) {
    return Buffer.from(body, 'base64').toString('utf8');
  }
  const bytes = /quoted-printable/i.test(head) ? unquoted(body) : body;
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n');
}

function unquoted(text: string): string {
  const byte = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
  return text.replaceAll('=\r\n', '').replaceAll(/=([0-9A-F]{2})/g, byte);
}

/** RFC 2047. */
function decodeWords(header: string): string {
  const word = /=\?utf-8\?([bq])\?([^?]*)\?=(?:\s+(?==\?))?/gi;
  const joined = header.replaceAll(/\r\n[ \t]/g, ' ');
  return joined.replaceAll(word, (_, encoding: string, text: string) =>
    encoding.toLowerCase() === 'b'
      ? Buffer.from(text, 'base64').toString('utf8')
      : Buffer.from(unquoted(text.replaceAll('_', ' ')), 'latin1').toString('utf8'),
  );
}
