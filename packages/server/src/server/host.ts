/** A name or an address, with or without a port: no user information, and no empty name. */
const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?$/;
const HIGHEST_PORT = 65_535;

/** Returns whether a text is a valid value of `Host`, or authority of a URL. */
export function isHost(text: string): boolean {
  const [whole, port = '0'] = HOST.exec(text) ?? [];
  return whole !== undefined && Number(port) <= HIGHEST_PORT;
}
