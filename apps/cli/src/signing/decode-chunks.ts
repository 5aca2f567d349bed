/** A body with `Transfer-Encoding: chunked` (RFC 9112 §7.1). Undefined if it is not in chunks. */
export function decodeChunks(bytes: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  let position = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', position);
    const line = end === -1 ? '' : bytes.toString('latin1', position, end);
    if (!/^[0-9a-f]{1,8}(?:[ \t]*;.*)?$/i.test(line)) {
      return undefined;
    }
    const size = Number.parseInt(line, 16);
    const start = end + 2;
    if (size === 0) {
      return Buffer.concat(chunks);
    }
    if (bytes.toString('latin1', start + size, start + size + 2) !== '\r\n') {
      return undefined;
    }
    chunks.push(bytes.subarray(start, start + size));
    position = start + size + 2;
  }
}
