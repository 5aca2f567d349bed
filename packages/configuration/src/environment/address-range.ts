import { isIP } from 'node:net';

/**
 * Whether the text is an IP address or a CIDR range. `/0` is everybody and refused: it is what "trust
 * whoever connects" looks like. So are zones (`%eth0`), which no forwarded address carries.
 */
export function isAddressOrRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || rest.length > 0) {
    return false;
  }
  return (
    prefix === undefined ||
    (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
  );
}
