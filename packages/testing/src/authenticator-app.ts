import { createHmac } from 'node:crypto';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The code that an authenticator app shows (RFC 6238): independent of the library of the servers. */
export function codeOfApp(secret: string, milliseconds: number = Date.now()): string {
  const bits = [...secret].map((each) => BASE32.indexOf(each).toString(2).padStart(5, '0'));
  const bytes = bits.join('').match(/.{8}/g) ?? [];
  const key = Buffer.from(bytes.map((each) => Number.parseInt(each, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(milliseconds / 30_000)));
  const mac = createHmac('sha1', key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** The secret that a page shows for users without a camera. */
export function secretOfPage({ body }: { readonly body: string }): string {
  const [, shown = ''] = /<span class="code" translate="no">([A-Z2-7 ]+)<\/span>/.exec(body) ?? [];
  return shown.replaceAll(' ', '');
}

/** The recovery codes that a page shows. */
export function recoveryCodesOfPage({ body }: { readonly body: string }): readonly string[] {
  return [...body.matchAll(/<li class="code">([A-Z-]+)<\/li>/g)].map(([, code = '']) => code);
}
