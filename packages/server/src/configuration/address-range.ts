import { isIP } from 'node:net';

/**
 * Returns whether a text is an IP address or a CIDR range. Ranges of `/0` are rejected, because
 * they trust every peer. Zones (`%eth0`) are rejected, because forwarded addresses have none.
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
